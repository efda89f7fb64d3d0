// Command notify tells customers what became of their bookings, on standard
// output. It shows what one more service takes: a folder and its routes. The
// other services know nothing of it, and none of their lines is changed.
//
//	BROKER_URL=amqp://guest:guest@localhost:5672/ go run ./examples/notify
//
// It declares its own queues, and so its user must have the right to. They fill
// while it is away: whoever gives it up for good deletes them (notify.*).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"boxoffice/messaging"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/tickets"
)

const service = "notify"

// system returns that of the tickets, with one more service in it.
func system() messaging.System {
	s := tickets.System([]time.Duration{time.Second, 10 * time.Second}) // of its own queues
	s.Services = append(s.Services, messaging.Service{Name: service, Routes: messaging.Routes{
		Consumes: []string{"SeatRejected", "PaymentSucceeded", "PaymentFailed"},
	}})
	return s
}

// own returns the topology of its own queues: those of the others are theirs to
// declare, with their delays.
func own() messaging.Topology {
	s := system()
	s.Services = s.Services[len(s.Services)-1:]
	return s.Topology()
}

// notify prints to out until ctx ends.
func notify(ctx context.Context, b messaging.Broker, out io.Writer, log *slog.Logger) error {
	i := messaging.Instruments{Logger: log}
	if err := b.Declare(ctx, own(), messaging.TopologyDeclare); err != nil {
		return err
	}
	p, err := messaging.NewPublisher(b, system(), service, i)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) error {
		_, err := fmt.Fprintf(out, format+"\n", args...)
		return err
	}
	c, err := messaging.NewConsumer(b, p, messaging.ConsumerConfig{}, i,
		messaging.On(func(_ context.Context, e tickets.SeatRejected) ([]messaging.Event, error) {
			return nil, say("%s: seat %d is not yours: %s", e.BookingID, e.Seat, e.Reason)
		}),
		messaging.On(func(_ context.Context, e tickets.PaymentSucceeded) ([]messaging.Event, error) {
			return nil, say("%s: paid, see you at the show", e.BookingID)
		}),
		messaging.On(func(_ context.Context, e tickets.PaymentFailed) ([]messaging.Event, error) {
			return nil, say("%s: your card was declined for seat %d: %s", e.BookingID, e.Seat, e.Reason)
		}))
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

func run() error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	b, err := rabbitmq.Open(os.Getenv("BROKER_URL"), rabbitmq.Options{Name: service, Logger: log})
	if err != nil {
		return fmt.Errorf("BROKER_URL: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return errors.Join(notify(ctx, b, os.Stdout, log), b.Close(context.WithoutCancel(ctx)))
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "notify:", err)
		os.Exit(1)
	}
}
