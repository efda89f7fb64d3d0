package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/config"
	"boxoffice/internal/plain"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// deadCmd is the commands about parked messages.
type deadCmd struct {
	List    deadListCmd    `cmd:"" help:"List the parked messages."`
	Show    deadShowCmd    `cmd:"" help:"Show parked messages with headers and body."`
	Redrive deadRedriveCmd `cmd:"" help:"Send parked messages back to the queue that failed."`
	Drop    deadDropCmd    `cmd:"" help:"Remove parked messages, for good."`
}

// Help shows examples.
func (*deadCmd) Help() string {
	return `Each of them has more examples: boxoffice dead redrive --help

Examples:

  boxoffice dead list --url http://127.0.0.1:5200
  BROKER_URL=amqp://guest:guest@localhost:5672/ boxoffice dead list
  BROKER_URL=amqp://guest:guest@localhost:5672/ boxoffice dead redrive --all --dry-run`
}

// deadFrom is where the parked messages are.
type deadFrom struct {
	BrokerURL config.BrokerURL `type:"setting" env:"BROKER_URL" placeholder:"URL" help:"The RabbitMQ broker, as amqp:// or amqps://."`
	Timeout   time.Duration    `default:"10s" help:"How long to wait for a broker that cannot be reached."`
}

const upURL = "http://127.0.0.1:5200"

// check says what is missing; url is where a running up is asked instead.
func (f deadFrom) check(url string) error {
	switch {
	case url != "":
		return nil
	case f.BrokerURL == "":
		return errors.New("BROKER_URL is not set; use for example amqp://guest:guest@localhost:5672/ (or for a running boxoffice up: --url " + upURL + ")")
	case f.BrokerURL.InProcess():
		return errors.New("BROKER_URL=\"inproc:\" is a broker inside the process of boxoffice up; ask that one, with --url " + upURL)
	}
	return nil
}

// deadWhich is which parked messages are meant.
type deadWhich struct {
	Queue string `arg:"" optional:"" type:"given" help:"Only those of this queue, such as seats.BookingCreated, with or without .dead."`
	ID    string `name:"id" type:"given" placeholder:"ID" help:"Only these: the id of a message, or of a booking."`
}

// queues are the work queues that are meant.
func (w deadWhich) queues() ([]string, error) {
	all := tickets.System(nil).WorkQueues()
	if w.Queue == "" {
		return all, nil
	}
	queue := strings.TrimSuffix(w.Queue, messaging.DeadQueue(""))
	switch {
	case slices.Contains(all, queue):
		return []string{queue}, nil
	case isID(w.Queue):
		return nil, fmt.Errorf("there is no queue %q; it looks like an id: --id %s", w.Queue, plain.Line(w.Queue))
	}
	return nil, fmt.Errorf("there is no queue %q; the queues are:\n  %s", w.Queue, strings.Join(all, "\n  "))
}

// isID is whether text is the id of a booking, or of one of its messages.
func isID(text string) bool {
	booking, _, _ := strings.Cut(text, ".")
	const length = 36 // else trace ids would be some, too
	return len(booking) == length && uuid.Validate(booking) == nil
}

func (w deadWhich) matches(l messaging.DeadLetter) bool {
	return w.ID == "" || w.ID == l.Message.ID || w.ID == l.Key
}

// none says that there is nothing: an error, if there was to be something.
func (w deadWhich) none(c console, h held) error {
	where := "in any queue"
	if w.Queue != "" {
		where = "in " + w.Queue
	}
	switch {
	case w.ID != "" && len(h) > 0:
		return fmt.Errorf("no message %s is parked %s, unless it is one of those that %s", plain.Line(w.ID), where, h)
	case w.ID != "":
		return fmt.Errorf("no message %s is parked %s", plain.Line(w.ID), where)
	case len(h) > 0:
		fmt.Fprintf(c.out, "nothing is parked %s, but for what %s\n", where, h)
		return nil
	}
	fmt.Fprintf(c.out, "nothing is parked %s\n", where)
	return nil
}

// held are the queues of whose parked messages some were not seen, because
// someone else held them.
type held []string

// addTo is a function that adds a queue.
func addTo(h *held) func(queue string) {
	return func(queue string) {
		if !slices.Contains(*h, queue) {
			*h = append(*h, queue)
		}
	}
}

func (h held) String() string {
	return "someone else is looking at, or redriving, right now, of " + strings.Join(h, ", ")
}

// note tells of them beside what was seen.
func (h held) note(c console) {
	if len(h) > 0 {
		fmt.Fprintf(c.err, "left out is what %s\n", h)
	}
}
