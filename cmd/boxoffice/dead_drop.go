package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"boxoffice/messaging"
)

// deadDropCmd removes parked messages.
type deadDropCmd struct {
	deadWhich
	deadFrom
	All bool   `help:"All parked messages of all queues, or of QUEUE."`
	Yes bool   `help:"Do not ask."`
	URL string `name:"url" type:"given" placeholder:"URL" help:"A running boxoffice up, whose broker is in its process, instead of BROKER_URL."`

	answers io.Reader // nil: what the person types
}

// Help shows examples.
func (*deadDropCmd) Help() string {
	return `It shows what it is about to remove and asks, unless told --yes. What is parked meanwhile is not removed. A booking whose message is dropped may never finish by itself.

Examples:

  boxoffice dead drop --id 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c
  boxoffice dead drop seats.BookingCreated --broker-url amqp://guest:guest@localhost:5672/
  boxoffice dead drop --id 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c --url http://127.0.0.1:5200
  boxoffice dead drop --all --yes`
}

// Check says what does not fit together.
func (d *deadDropCmd) Check() error {
	_, err := d.queues()
	if err == nil && d.Queue == "" && d.ID == "" && !d.All {
		err = errors.New("which messages? Name an --id or a QUEUE, as boxoffice dead list shows them; only if none is worth keeping: --all")
	}
	return errors.Join(err, d.check(d.URL))
}

// Run removes them.
func (d *deadDropCmd) Run(ctx context.Context, c console) error {
	if d.URL != "" {
		return d.atUp(ctx, c)
	}
	queues, err := d.queues()
	if err != nil {
		return err
	}
	o, err := openOperator(ctx, c, d.deadFrom)
	if err != nil {
		return err
	}
	defer o.close(ctx)
	shown, err := o.look(ctx, queues, d.matches)
	if err != nil {
		return err
	}
	if len(shown) == 0 {
		return d.none(c, o.held)
	}
	o.held.note(c)
	if err := d.confirm(ctx, c, shown); err != nil {
		return err
	}
	done, err := o.drop(ctx, queues, shown)
	far := fmt.Sprintf("%d of %d removed", done, len(shown))
	switch {
	case errors.Is(err, errStopped):
		return &interruptedError{goesOn: far + ", the rest stays parked"}
	case err != nil:
		return fmt.Errorf("%s, and the rest is still parked: %w", far, err)
	}
	fmt.Fprintln(c.out, far)
	return nil
}

func (o *operator) look(ctx context.Context, queues []string, match func(messaging.DeadLetter) bool) ([]messaging.DeadLetter, error) {
	ctx, stop := o.watch(ctx)
	defer stop()
	return o.list(ctx, queues, match)
}

// confirm returns nil if the person agrees.
func (d *deadDropCmd) confirm(ctx context.Context, c console, shown []messaging.DeadLetter) error {
	if d.Yes {
		return nil
	}
	if err := writeTable(c, shown); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "\nRemove %d for good? [y/N] ", len(shown))
	answers := d.answers
	if answers == nil {
		answers = os.Stdin
	}
	answer := make(chan string, 1)
	go func() { // if it is not waited for, it ends with the process
		line, _ := bufio.NewReader(answers).ReadString('\n') // no answer is no
		answer <- line
	}()
	select {
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		fmt.Fprintln(c.out)
		return errors.New("nothing was removed; --yes does not ask")
	case <-ctx.Done():
		fmt.Fprintln(c.out)
		return &interruptedError{goesOn: "nothing was removed"}
	}
}

// drop removes these messages, and no others that look as if they were meant.
func (o *operator) drop(ctx context.Context, queues []string, letters []messaging.DeadLetter) (done int, err error) {
	left := map[string]int{}
	for _, l := range letters {
		left[identity(l)]++
	}
	working, stop := o.watch(context.WithoutCancel(ctx))
	defer stop()
	o.letters.Before = func(context.Context, messaging.DeadLetter) error {
		if ctx.Err() != nil {
			return errStopped
		}
		return nil
	}
	for _, queue := range queues {
		o.says("removed %d of %d", done, len(letters))
		n, err := o.letters.Drop(working, queue, func(l messaging.DeadLetter) bool {
			id := identity(l)
			left[id]--
			return left[id] >= 0
		})
		done += n
		if err != nil {
			return done, o.explain(working, err)
		}
	}
	return done, nil
}

// identity tells parked messages apart. Those that it does not are the same.
func identity(l messaging.DeadLetter) string {
	return fmt.Sprintf("%q %q %s %q", l.Queue, l.Message.ID, l.ParkedAt.UTC(), l.Message.Body)
}
