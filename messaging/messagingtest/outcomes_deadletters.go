package messagingtest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"boxoffice/messaging"
)

func deadLetters() []clause {
	return []clause{
		{"parked messages are listed with why and whence", "", parkedIsListed},
		{"a redrive goes to the queue that failed, as new, in its trace", "", redriveStartsAgain},
		{"redrive and drop touch only what matches", "", onlyWhatMatches},
		{"two redrives at once send each message once", "", redrivesAreDisjoint},
		{"what the broker itself parked says so", "", brokerParkedIsListed},
	}
}

// parkTraced lets a service park one message.
func (f *fixture) parkTraced(b messaging.Broker) messaging.Message {
	f.Helper()
	m := traced(f)
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	calls := make(chan time.Time, 10)
	stop := f.serve(service{handle: counted(calls, returns(messaging.Permanent(errBroken)))})
	receive(f, calls, "the handler")
	stop()
	return m
}

func (f *fixture) list(d *messaging.DeadLetters, workQueue string) (list []messaging.DeadLetter) {
	f.Helper()
	err := d.List(f.ctx, workQueue, func(l messaging.DeadLetter) error {
		list = append(list, l)
		return nil
	})
	if err != nil {
		f.Fatalf("list: %v", err)
	}
	return list
}

func everything(messaging.DeadLetter) bool { return true }

func operator(b messaging.Broker) *messaging.DeadLetters {
	return messaging.NewDeadLetters(b, Shop(), "operator", messaging.Instruments{})
}

func parkedIsListed(f *fixture) {
	b := f.declared("test")
	m := f.parkTraced(b)
	for range 2 {
		list := f.list(operator(b), stockQueue)
		if len(list) != 1 {
			f.Fatalf("%d messages are listed, want 1", len(list))
		}
		l := list[0]
		if l.Queue != stockQueue || l.Reason != errBroken.Error() || l.Service != Stock || l.Attempts != 1 ||
			l.TraceID != traceID || time.Since(l.ParkedAt) > patience || l.Message.ID != m.ID {
			f.Errorf("listed %+v", l)
		}
	}
}

func redriveStartsAgain(f *fixture) {
	b := f.declared("test")
	m := f.parkTraced(b)
	if n, err := operator(b).Redrive(f.ctx, stockQueue, everything); n != 1 || err != nil {
		f.Fatalf("redrive: %d, %v", n, err)
	}
	f.expectContents(b, deadQueue)
	f.expectContents(b, ordersQueue, m.ID) // the event itself: its sibling is not driven
	got := f.first(b, stockQueue)
	if got.ID != m.ID || string(got.Body) != string(m.Body) || got.Attempt() != 1 || got.AppID != m.AppID {
		f.Errorf("redriven %+v", got)
	}
	for _, h := range []string{messaging.HeaderReason, messaging.HeaderService, messaging.HeaderParkedAt, messaging.HeaderTraceID, "x-death"} {
		if _, ok := got.Headers[h]; ok {
			f.Errorf("it still carries %s", h)
		}
	}
	if !strings.HasPrefix(got.Header("traceparent"), "00-"+traceID+"-") {
		f.Errorf("its traceparent is %q", got.Header("traceparent"))
	}
	f.serve(service{handle: func(_ context.Context, e in) ([]messaging.Event, error) { return []messaging.Event{outOf(e)}, nil }})
	f.next(outQueue)
}

func onlyWhatMatches(f *fixture) {
	b := f.declared("test")
	sent := ids("m", 9)
	f.park(b, stockQueue, sent)
	match := func(some ...string) func(messaging.DeadLetter) bool {
		return func(l messaging.DeadLetter) bool { return slices.Contains(some, l.Message.ID) }
	}
	if n, err := operator(b).Redrive(f.ctx, stockQueue, match(sent[2], sent[5])); n != 2 || err != nil {
		f.Errorf("redrive: %d, %v", n, err)
	}
	if n, err := operator(b).Drop(f.ctx, stockQueue, match(sent[0], sent[8])); n != 2 || err != nil {
		f.Errorf("drop: %d, %v", n, err)
	}
	f.expectContents(b, stockQueue, sent[2], sent[5])
	f.expectContents(b, deadQueue, sent[1], sent[3], sent[4], sent[6], sent[7])
}

func redrivesAreDisjoint(f *fixture) {
	b := f.declared("test")
	sent := ids("m", 40)
	f.park(b, stockQueue, sent)
	counts := make([]int, 3)
	var running sync.WaitGroup
	for i := range counts {
		d := operator(f.connect("operator"))
		running.Go(func() {
			n, err := d.Redrive(f.ctx, stockQueue, everything)
			if err != nil {
				f.Errorf("redrive: %v", err)
			}
			counts[i] = n
		})
	}
	running.Wait()
	if total := counts[0] + counts[1] + counts[2]; total != len(sent) {
		f.Errorf("redriven %v, want %d together", counts, len(sent))
	}
	f.expectContents(b, stockQueue, sent...)
	f.expectContents(b, deadQueue)
}

func brokerParkedIsListed(f *fixture) {
	b, work := f.limited()
	f.publish(b, Shop().EventsExchange(), "Limited", message("deadly"))
	crashing := f.consume(f.connect("crashing"), work, 1, func(_ context.Context, d *messaging.Delivery) { d.Settler.Lose() })
	var list []messaging.DeadLetter
	for len(list) == 0 && f.ctx.Err() == nil {
		list = f.list(operator(b), work)
	}
	crashing.finish()
	if len(list) != 1 || !strings.Contains(list[0].Reason, "delivery_limit") || list[0].Service != "" {
		f.Errorf("listed %+v", list)
	}
}
