package e2e_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"boxoffice/internal/client"
	"boxoffice/tickets"
)

// A fault that loses a delivery is an event on that delivery's span, also where
// it ends the process: nothing but the flush before its end exports that span
// here. The next delivery has a span of its own.
func TestAFaultIsOnItsSpan(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	s := newStack(t, "LAB=on", "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+c.address, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_BSP_SCHEDULE_DELAY=600000")
	dropped := s.book(faulty(1, "drop"))
	died := s.dies(tickets.Payments, faulty(2, "exit"))
	s.endWell() // whoever stops in good order exports the rest

	statuses := map[string]bool{}
	for fault, b := range map[string]client.Booking{"drop": dropped, "exit": died} {
		if b.Status != "Confirmed" {
			t.Errorf("%s: the booking is %s", fault, b.Status)
		}
		tries := c.named(b.TraceID, processReserved)
		if len(tries) != 2 {
			t.Errorf("%s: there are %d spans %q", fault, len(tries), processReserved)
			continue
		}
		for i, try := range tries {
			var events []string
			for _, e := range try.GetEvents() {
				if e.GetName() == "fault injected" {
					events = append(events, attributes(e.GetAttributes())["fault"].(string))
				}
			}
			got, want := strings.Join(events, ", "), ""
			if i == 0 {
				want = "payments.SeatReserved=" + fault
				told, _, _ := strings.Cut(try.GetStatus().GetMessage(), ":") // the cause, which comes next, is known for some
				statuses[told] = true
			}
			if failed := try.GetStatus().GetCode() == 2; got != want || failed != (i == 0) {
				t.Errorf("%s: delivery %d has the faults %q and ended with %s", fault, i+1, got, try.GetStatus())
			}
		}
		outcomes := c.named(b.TraceID, "publish tickets.events PaymentSucceeded")
		if len(outcomes) != 1 || string(outcomes[0].GetParentSpanId()) != string(tries[1].GetSpanId()) {
			t.Errorf("%s: the second delivery publishes %d outcomes", fault, len(outcomes))
		}
	}
	if len(statuses) != 1 {
		t.Errorf("the same loss is told in different words: %v", statuses)
	}
}

// Where a collector never answers, or there is none, the process dies all the
// same, and the booking is finished by the next.
func TestAFaultWithoutACollector(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it accepts, and never answers
	for name, variables := range map[string][]string{
		"there is none": nil,
		"it is silent":  {"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + l.Addr().String()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, append([]string{"LAB=on"}, variables...)...)
			if b := s.dies(tickets.Payments, faulty(1, "exit")); b.Status != "Confirmed" {
				t.Errorf("the booking is %s", b.Status)
			}
			s.settled()
		})
	}
}

func faulty(seat int, action string) client.Wish {
	return client.Wish{Seat: seat, Customer: "olena", Amount: tickets.MustAmount("450"), Fault: "payments.SeatReserved=" + action}
}

// dies makes a booking whose fault ends a service, starts that again, and waits
// until the booking is finished.
func (s *stack) dies(name string, w client.Wish) client.Booking {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	p := s.programs[name]
	b, err := s.client.Book(ctx, w)
	if err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		s.t.Fatalf("%s does not die", name)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 70 {
		s.t.Errorf("%s ended with exit code %d", name, code)
	}
	said := 0
	for line := range strings.Lines(p.stderr()) {
		if strings.Contains(line, `"fault injected"`) && strings.Contains(line, w.Fault) && strings.Contains(line, b.TraceID) {
			said++
		}
	}
	if said != 1 {
		s.t.Errorf("%s says %d times what struck it", name, said)
	}
	s.restart(name)
	s.ready()
	if b, err = s.client.Finish(ctx, b); err != nil {
		s.t.Fatal(err)
	}
	return b
}
