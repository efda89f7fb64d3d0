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
func listAtUp(ctx context.Context, c console, address string, which deadWhich) ([]messaging.DeadLetter, held, error) {
	answer, err := readDead(ctx, c, address, which)
	return answer.letters(), answer.Held, err
}

func readDead(ctx context.Context, c console, address string, which deadWhich) (answer deadJSON, err error) {
	err = askUp(address, func(up *client.Client) error {
		query := url.Values{}
		for name, value := range map[string]string{"queue": which.Queue, "id": which.ID} {
			if value != "" {
				query.Set(name, value)
			}
		}
		return ofBooking(ctx, up, up.Query(ctx, "lab/dead", query, &answer))
	})
	if err == nil && answer.More > 0 {
		fmt.Fprintf(c.err, "parked, and not shown: %d more than fit into one answer; name a QUEUE or an --id, or redrive or drop what is shown\n", answer.More)
	}
	return answer, err
}

// atUp has a running up drop what the person has seen.
func (d *deadDropCmd) atUp(ctx context.Context, c console) error {
	shown, err := readDead(ctx, c, d.URL, d.deadWhich)
	if err != nil {
		return err
	}
	if len(shown.Messages) == 0 {
		return d.none(c, shown.Held)
	}
	shown.Held.note(c)
	if err := d.confirm(ctx, c, shown.letters()); err != nil {
		return err
	}
	done := 0
	for some := range slices.Chunk(shown.Messages, maxDrop) {
		var answer droppedJSON
		ask := dropJSON{Messages: make([]string, len(some))}
		for i, m := range some {
			ask.Messages[i] = m.Key
		}
		err := askUp(d.URL, func(up *client.Client) error { return up.Send(ctx, "lab/dead/drop", ask, &answer) })
		done += answer.Dropped
		if err != nil {
			return fmt.Errorf("%d of %d removed, and perhaps some more: %w", done, len(shown.Messages), err)
		}
	}
	fmt.Fprintf(c.out, "%d of %d removed\n", done, len(shown.Messages))
	return nil
}

// atUp has a running up redrive.
func (d *deadRedriveCmd) atUp(ctx context.Context, c console) error {
	var answer redrivenJSON
	err := askUp(d.URL, func(up *client.Client) error {
		return ofBooking(ctx, up, up.Send(ctx, "lab/dead/redrive", redriveJSON{Queue: d.Queue, ID: d.ID, KeepFault: d.KeepFault}, &answer))
	})
	if err != nil {
		return err
	}
	for _, queue := range slices.Sorted(maps.Keys(answer.Redriven)) {
		fmt.Fprintf(c.out, "%s  %d redriven\n", queue, answer.Redriven[queue])
	}
	if len(answer.Redriven) == 0 {
		return d.none(c, answer.Held)
	}
	answer.Held.note(c)
	return nil
}

// ofBooking is err of a path that only some booking services have, unless it is
// from no booking service at all.
func ofBooking(ctx context.Context, up *client.Client, err error) error {
	if p, refused := errors.AsType[*client.ProblemError](err); refused && p.Status == http.StatusNotFound {
		if _, stranger := up.Stats(ctx); stranger != nil {
			return stranger
		}
	}
	return err
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
