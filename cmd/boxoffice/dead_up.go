package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"boxoffice/internal/client"
	"boxoffice/messaging"
)

// listAtUp asks a running up, whose broker is in its process.
func listAtUp(ctx context.Context, c console, address string, which deadWhich) ([]messaging.DeadLetter, error) {
	var answer deadJSON
	err := askUp(address, func(up *client.Client) error {
		query := url.Values{}
		for name, value := range map[string]string{"queue": which.Queue, "id": which.ID} {
			if value != "" {
				query.Set(name, value)
			}
		}
		return up.Query(ctx, "lab/dead", query, &answer)
	})
	if err != nil {
		return nil, err
	}
	if answer.More > 0 {
		fmt.Fprintf(c.err, "%d more are parked than fit into one answer; name a QUEUE or an --id\n", answer.More)
	}
	letters := make([]messaging.DeadLetter, len(answer.Messages))
	for i, m := range answer.Messages {
		letters[i] = m.letter()
	}
	return letters, nil
}

// atUp has a running up redrive.
func (d *deadRedriveCmd) atUp(ctx context.Context, c console) error {
	var answer redrivenJSON
	err := askUp(d.URL, func(up *client.Client) error {
		return up.Send(ctx, "lab/dead/redrive", redriveJSON{Queue: d.Queue, ID: d.ID, KeepFault: d.KeepFault}, &answer)
	})
	if err != nil {
		return err
	}
	for _, queue := range slices.Sorted(maps.Keys(answer.Redriven)) {
		fmt.Fprintf(c.out, "%s  %d redriven\n", queue, answer.Redriven[queue])
	}
	if len(answer.Redriven) == 0 {
		return d.none(c)
	}
	return nil
}

// askUp makes a request, and explains what a running up would not have answered.
func askUp(address string, ask func(*client.Client) error) error {
	up, err := client.New(address)
	if err != nil {
		return err
	}
	defer up.Close()
	err = ask(up)
	p, refused := errors.AsType[*client.ProblemError](err)
	switch {
	case refused && p.Status == http.StatusNotFound:
		return fmt.Errorf("%s shows no parked messages: it is no boxoffice up with LAB=on and the broker in its process; ask RabbitMQ itself, with --broker-url", address)
	case errors.Is(err, client.ErrUnreachable):
		return fmt.Errorf("%w; is boxoffice up running?", err)
	}
	return err
}
