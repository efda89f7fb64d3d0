package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"boxoffice/internal/config"
	"boxoffice/internal/verify"
)

// verifyReport is what verify found.
type verifyReport struct {
	running   string // what still ran when time was up
	snapshot  verify.Snapshot
	found     []verify.Violation
	queues    verify.Queues
	unchecked string // why the queues are not known
	parked    parkedReport
}

// print writes a line for each invariant, one for each violation, and what is
// parked. Its error says that there are violations.
func (r verifyReport) print(out io.Writer) error {
	found := slices.Concat(r.found, verify.CheckQueues(r.queues.Work))
	invariants := []string{
		"every accepted booking is finished, and a refused one left nothing",
		"a seat has one holder, which is Confirmed, and a Confirmed booking its seat",
		"a Confirmed booking is paid and charged its amount, once, and no other is",
		"a Cancelled booking holds no seat, and free and held seats add up",
		"no message is left in a work or wait queue",
	}
	width := 0
	for _, text := range invariants {
		width = max(width, len(text))
	}
	for i, text := range invariants {
		state := "OK"
		var broken []string
		for _, v := range found {
			if v.Invariant == i+1 {
				broken = append(broken, describe(v))
			}
		}
		switch {
		case len(broken) > 0:
			state = violations(len(broken))
		case i+1 == 5 && r.unchecked != "":
			state = "not checked"
			broken = append(broken, r.unchecked)
		}
		fmt.Fprintf(out, "%d  %-*s  %s\n", i+1, width, text, state)
		for _, line := range broken {
			fmt.Fprintln(out, "     "+line)
		}
	}
	if !r.parked.known { // then at least the management API's figures, if there are some
		for _, queue := range slices.Sorted(maps.Keys(r.queues.Parked)) {
			if n := r.queues.Parked[queue]; n > 0 {
				fmt.Fprintf(out, "parked: %d in %s\n", n, queue)
			}
		}
	}
	r.parked.write(out)
	s := r.snapshot
	fmt.Fprintf(out, "read %d bookings, %d reservations, %d payments, %d charges, and %d seats of which %d are held\n",
		len(s.Bookings), len(s.Reservations), len(s.Payments), len(s.Charges), s.Total, len(s.Held))
	switch {
	case len(found) == 0:
		return nil
	case r.running != "":
		return fmt.Errorf("%s; bookings were still running when time was up (%s): --timeout waits longer; boxoffice explain BOOKING-ID says what one waits for", violations(len(found)), r.running)
	}
	return errors.New(violations(len(found)))
}

func violations(n int) string {
	if n == 1 {
		return "1 violation"
	}
	return fmt.Sprintf("%d violations", n)
}

func describe(v verify.Violation) string {
	if v.BookingID == uuid.Nil {
		return v.Text
	}
	trace := v.TraceID
	if trace == "" {
		trace = "unknown"
	}
	return fmt.Sprintf("booking %s  trace %s  %s", v.BookingID, trace, v.Text)
}

// managementOf guesses RabbitMQ's management API and reads the virtual host: by
// custom the API listens 10000 ports above AMQP.
func managementOf(broker config.BrokerURL) (address, vhost string) {
	u, err := url.Parse(string(broker))
	if err != nil {
		return "", "/" // was checked when it was read
	}
	m := url.URL{Scheme: "http", User: u.User, Host: net.JoinHostPort(u.Hostname(), "15672")}
	if u.Scheme == "amqps" {
		m.Scheme, m.Host = "https", net.JoinHostPort(u.Hostname(), "15671")
	}
	if port, err := strconv.Atoi(u.Port()); err == nil {
		m.Host = net.JoinHostPort(u.Hostname(), strconv.Itoa(port+10_000))
	}
	if m.User == nil {
		m.User = url.UserPassword("guest", "guest")
	}
	if vhost = strings.TrimPrefix(u.Path, "/"); vhost == "" {
		vhost = "/"
	}
	return m.String(), vhost
}
