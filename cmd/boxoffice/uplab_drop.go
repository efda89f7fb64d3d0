package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// dropJSON says which messages to drop, by the keys that a list of them had:
// nobody drops what he has not seen.
type dropJSON struct {
	Messages []string `json:"messages"`
}

type droppedJSON struct {
	Dropped int `json:"dropped"`
}

// maxDrop is how many keys fit into a request.
const maxDrop = 1000

// letterKey is short for the identity of a parked message.
func letterKey(l messaging.DeadLetter) string {
	sum := sha256.Sum256([]byte(identity(l)))
	return hex.EncodeToString(sum[:16])
}

func (u *upLab) postDrop(c echo.Context) error {
	keys, err := readDrop(c)
	if err != nil {
		return err
	}
	left := map[string]int{}
	for _, key := range keys {
		left[key]++
	}
	letters, answer := u.letters(), droppedJSON{}
	for _, queue := range tickets.System(nil).WorkQueues() {
		n, err := letters.Drop(c.Request().Context(), queue, func(l messaging.DeadLetter) bool {
			key := letterKey(l)
			left[key]--
			return left[key] >= 0
		})
		if err != nil && !errors.Is(err, messaging.ErrNoQueue) {
			return err
		}
		answer.Dropped += n
	}
	return c.JSON(http.StatusOK, answer)
}

func readDrop(c echo.Context) ([]string, error) {
	o, err := httpserver.DecodeObject(c)
	if err != nil {
		return nil, err
	}
	keys := httpserver.Field(o, "messages", func(raw json.RawMessage) (keys []string, err error) {
		if json.Unmarshal(raw, &keys) != nil || len(keys) == 0 || len(keys) > maxDrop {
			err = fmt.Errorf("must be 1 to %d keys of GET /lab/dead", maxDrop)
		}
		return keys, err
	})
	return keys, o.Err()
}
