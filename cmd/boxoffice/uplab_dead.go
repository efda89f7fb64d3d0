package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/internal/lab"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// deadJSON is parked messages, how many more there are than an answer holds, and
// of which queues some were not seen.
type deadJSON struct {
	Messages []letterJSON `json:"messages"`
	More     int          `json:"more,omitempty"`
	Held     held         `json:"held,omitempty"`
}

func (d deadJSON) letters() []messaging.DeadLetter {
	letters := make([]messaging.DeadLetter, len(d.Messages))
	for i, m := range d.Messages {
		letters[i] = m.letter()
	}
	return letters
}

// letterJSON is one parked message.
type letterJSON struct {
	Key         string         `json:"key"` // by which it can be dropped
	Queue       string         `json:"queue"`
	Event       string         `json:"event"`
	BookingID   string         `json:"bookingId"`
	Reason      string         `json:"reason"`
	Service     string         `json:"service,omitempty"`
	Attempts    int            `json:"attempts"`
	TraceID     string         `json:"traceId"`
	ParkedAt    time.Time      `json:"parkedAt,omitzero"`
	ID          string         `json:"id"`
	Type        string         `json:"type"`
	AppID       string         `json:"appId,omitempty"`
	ContentType string         `json:"contentType,omitempty"`
	Headers     map[string]any `json:"headers"`
	Body        string         `json:"body,omitempty"`
	Binary      []byte         `json:"binary,omitempty"` // a body that is no text
}

func toLetterJSON(l messaging.DeadLetter) letterJSON {
	j := letterJSON{
		Key: letterKey(l), Queue: l.Queue, Event: l.Event, BookingID: l.Key, Reason: l.Reason, Service: l.Service, Attempts: l.Attempts,
		TraceID: l.TraceID, ParkedAt: l.ParkedAt, ID: l.Message.ID, Type: l.Message.Type, AppID: l.Message.AppID,
		ContentType: l.Message.ContentType, Headers: l.Message.Headers,
	}
	if utf8.Valid(l.Message.Body) {
		j.Body = string(l.Message.Body)
	} else {
		j.Binary = l.Message.Body
	}
	return j
}

func (j *letterJSON) letter() messaging.DeadLetter {
	m := messaging.Message{ID: j.ID, Type: j.Type, AppID: j.AppID, ContentType: j.ContentType, Headers: j.Headers, Body: j.Binary}
	if j.Body != "" {
		m.Body = []byte(j.Body)
	}
	return messaging.DeadLetter{
		Queue: j.Queue, Event: j.Event, Key: j.BookingID, Reason: j.Reason, Service: j.Service, Attempts: j.Attempts,
		TraceID: j.TraceID, ParkedAt: j.ParkedAt, Message: m,
	}
}

// size is how many bytes it takes in an answer. Strangers' headers may hold what
// JSON cannot; they become text.
func (j *letterJSON) size() int {
	text, err := json.Marshal(j)
	if err == nil {
		return len(text)
	}
	headers := map[string]any{}
	for name, value := range j.Headers {
		headers[name] = headerText(value)
	}
	j.Headers = headers
	text, _ = json.Marshal(j) // of texts and numbers only
	return len(text)
}

// maxAnswer is how many bytes of parked messages one answer has, roughly.
const maxAnswer = 2 << 20

func (u *upLab) getDead(c echo.Context) error {
	query, err := httpserver.Query(c)
	if err != nil {
		return err
	}
	which := deadWhich{Queue: query.Get("queue"), ID: query.Get("id")}
	queues, err := which.queues()
	if err != nil {
		return httpserver.BadQuery("queue", err.Error())
	}
	answer, size := deadJSON{Messages: []letterJSON{}}, 0
	letters := u.letters()
	letters.Held = addTo(&answer.Held)
	for _, queue := range queues {
		err := letters.List(c.Request().Context(), queue, func(l messaging.DeadLetter) error {
			if !which.matches(l) {
				return nil
			}
			j := toLetterJSON(l)
			if size += j.size(); size > maxAnswer {
				answer.More++
				return nil
			}
			answer.Messages = append(answer.Messages, j)
			return nil
		})
		if err != nil && !errors.Is(err, messaging.ErrNoQueue) { // nothing has begun yet
			return err
		}
	}
	return c.JSON(http.StatusOK, answer)
}

// redriveJSON says what to redrive: all of a queue, what has an id, or everything.
type redriveJSON struct {
	Queue     string `json:"queue,omitempty"`
	ID        string `json:"id,omitempty"`
	KeepFault bool   `json:"keepFault,omitempty"`
}

type redrivenJSON struct {
	Redriven map[string]int `json:"redriven"` // by queue
	Held     held           `json:"held,omitempty"`
}

func (u *upLab) postRedrive(c echo.Context) error {
	which, keepFault, err := readRedrive(c)
	if err != nil {
		return err
	}
	queues, err := which.queues()
	if err != nil {
		return err
	}
	letters := u.letters()
	if !keepFault {
		letters.Prepare = lab.Without
	}
	answer := redrivenJSON{Redriven: map[string]int{}}
	letters.Held = addTo(&answer.Held)
	for _, queue := range queues {
		n, err := letters.Redrive(c.Request().Context(), queue, which.matches)
		if err != nil && !errors.Is(err, messaging.ErrNoQueue) {
			return err
		}
		if n > 0 {
			answer.Redriven[queue] = n
		}
	}
	return c.JSON(http.StatusOK, answer)
}

func readRedrive(c echo.Context) (which deadWhich, keepFault bool, err error) {
	o, err := httpserver.DecodeObject(c)
	if err != nil {
		return which, false, err
	}
	if o.Has("queue") {
		which.Queue = o.Text("queue", 0, 100)
		if _, err := which.queues(); err != nil {
			o.Fail("queue", err.Error())
		}
	}
	if o.Has("id") {
		which.ID = o.Text("id", 1, 255)
	}
	if o.Has("keepFault") {
		keepFault = httpserver.Field(o, "keepFault", func(raw json.RawMessage) (b bool, err error) {
			if json.Unmarshal(raw, &b) != nil {
				err = errors.New("must be true or false")
			}
			return b, err
		})
	}
	return which, keepFault, o.Err()
}

func (u *upLab) letters() *messaging.DeadLetters {
	t := u.host.telemetry
	return messaging.NewDeadLetters(u.host.broker, tickets.System(nil), operatorName, messaging.Instruments{
		Logger: t.Logger, TracerProvider: t.TracerProvider, MeterProvider: t.MeterProvider, Propagator: t.Propagator,
	})
}
