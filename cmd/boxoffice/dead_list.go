package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"boxoffice/internal/plain"
	"boxoffice/messaging"
)

// deadListCmd lists parked messages.
type deadListCmd struct {
	deadWhich
	deadFrom
	URL string `name:"url" type:"given" placeholder:"URL" help:"A running boxoffice up, whose broker is in its process, instead of BROKER_URL."`
}

// Help shows examples.
func (*deadListCmd) Help() string {
	return `Looking at messages moves none. One that someone else is looking at, or redriving, is not seen; it says so.

Examples:

  boxoffice dead list --broker-url amqp://guest:guest@localhost:5672/
  boxoffice dead list seats.BookingCreated
  boxoffice dead list --id 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c
  boxoffice dead list --url http://127.0.0.1:5200`
}

// Check says what does not fit together.
func (d *deadListCmd) Check() error {
	_, err := d.queues()
	return errors.Join(err, d.check(d.URL))
}

// Run lists them.
func (d *deadListCmd) Run(ctx context.Context, c console) error {
	letters, others, err := readParked(ctx, c, d.deadFrom, d.URL, d.deadWhich)
	if err != nil {
		return err
	}
	if len(letters) == 0 {
		return d.none(c, others)
	}
	others.note(c)
	return writeTable(c, letters)
}

// readParked is the parked messages that are meant, by queue, oldest first.
func readParked(ctx context.Context, c console, from deadFrom, url string, which deadWhich) ([]messaging.DeadLetter, held, error) {
	if url != "" {
		return listAtUp(ctx, c, url, which)
	}
	queues, err := which.queues()
	if err != nil {
		return nil, nil, err
	}
	o, err := openOperator(ctx, c, from)
	if err != nil {
		return nil, nil, err
	}
	defer o.close(ctx)
	letters, err := o.look(ctx, queues, which.matches)
	return letters, o.held, err
}

func writeTable(c console, letters []messaging.DeadLetter) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "QUEUE\tEVENT\tBOOKING\tREASON\tATTEMPTS\tAGE\tTRACE")
	for _, l := range letters {
		event := l.Message.Type
		if event == "" {
			event = l.Event
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", l.Queue, short(event, 40), short(l.Key, 40),
			short(l.Reason, 60), l.Attempts, age(l.ParkedAt), short(l.TraceID, 40))
	}
	return w.Flush()
}

// age is how long ago something was, roughly.
func age(at time.Time) string {
	if at.IsZero() {
		return "?"
	}
	d := max(time.Since(at), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// short is one line of text of at most so many characters, "-" for none.
func short(text string, most int) string {
	if text == "" {
		return "-"
	}
	return plain.Short(text, most)
}
