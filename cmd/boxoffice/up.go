package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"

	"boxoffice/internal/config"
	"boxoffice/internal/telemetry"
)

// upCmd runs the three services in this process.
type upCmd struct {
	scene
	BrokerURL config.BrokerURL `type:"setting" env:"BROKER_URL" default:"inproc:" placeholder:"URL" help:"inproc: for a broker in this process, or RabbitMQ as amqp:// or amqps://."`
	Data      string           `placeholder:"DIR" help:"Keep the state in SQLite files in this folder; without it, it is gone in the end."`
}

// Help shows examples.
func (*upCmd) Help() string {
	return `It listens on 127.0.0.1 unless an address names another host.

Examples:

  boxoffice up
  boxoffice up --data ./state
  boxoffice up --bank-delay 2s --log-level warn
  SEATS_TOTAL=500 BOOKING_ADDR=:6200 boxoffice up
  BROKER_URL=amqp://guest:guest@localhost:5672/ boxoffice up`
}

// Check says what does not fit together.
func (u *upCmd) Check() error { return errors.Join(u.CheckDeadline(u.Service), u.CheckUnsafe(true)) }

// Run runs the services until ctx ends.
func (u *upCmd) Run(ctx context.Context, c console) error {
	release, err := takeFolder(u.Data)
	if err != nil {
		return err
	}
	defer release()
	p := process{broker: brokerAt(u.BrokerURL), logs: c.err}
	if !u.BrokerURL.InProcess() {
		p.broker = newSparingBroker(p.broker)
		fmt.Fprintf(c.out, "%-8s  %s\n", "broker", u.BrokerURL) // BROKER_URL may be set without one's knowing
	}
	lab := u.LabOn(true)
	if lab {
		p.recorder = telemetry.NewRecorder(0)
	}
	hs, err := u.open(ctx, p, u.Data)
	if err != nil {
		return u.beside(ctx, err)
	}
	if lab {
		hs[0].service = withLab(hs[0], p.recorder, u.BrokerURL.InProcess(), u.AllowedHosts) //nolint:contextcheck // requests have their own
	}
	telling, stop := context.WithCancel(ctx)
	var tellers sync.WaitGroup
	if !u.BrokerURL.InProcess() {
		w := brokerWatch{url: u.BrokerURL.String(), ready: hs[0].broker.Ready, out: c.out}
		tellers.Go(func() { w.run(telling) })
	}
	tellers.Go(func() {
		if hs.ready(telling) == nil { // else their logs say what they wait for
			u.announce(c, hs)
		}
	})
	err = hs.run(ctx)
	stop()
	tellers.Wait()
	return err
}

// beside is err with a way out, if another up has our addresses.
func (u *upCmd) beside(ctx context.Context, err error) error {
	taken := 0
	for _, a := range []config.Address{u.BookingAddr, u.SeatsAddr, u.PaymentsAddr} {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", a.Local())
		switch {
		case err == nil:
			_ = l.Close()
		case errors.Is(err, syscall.EADDRINUSE):
			taken++
		}
	}
	if taken < 2 { // the error says what to do about one
		return err
	}
	return fmt.Errorf("%w\n%d of 3 addresses are in use: is another boxoffice up running? Beside it, on any free ports:\n"+
		"  BOOKING_ADDR=127.0.0.1:0 SEATS_ADDR=127.0.0.1:0 PAYMENTS_ADDR=127.0.0.1:0 boxoffice up", err, taken)
}

func (u *upCmd) announce(c console, hs hosts) {
	for _, h := range hs {
		fmt.Fprintf(c.out, "%-8s  %s\n", h.name, h.url())
	}
	state := "The state is gone in the end; --data DIR keeps it."
	if u.Data != "" {
		state = "The state is kept in " + u.Data + "."
	}
	fmt.Fprintf(c.out, `
Try:
  curl -i %s/bookings -H 'Content-Type: application/json' -d '{"seat":5,"customer":"olena","amount":450}'

%s Ctrl-C stops.

`, hs[0].url(), state)
}
