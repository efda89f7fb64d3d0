package messagingtest

import (
	"context"
	"errors"
	"time"

	"boxoffice/messaging"
)

func carried() []clause {
	return []clause{
		{"a carried header travels from a delivery to its events, retries and redrives", "", carriedHeadersTravel},
		{"whoever begins says what is carried, and nothing else is", "", onlyWhatIsCarried},
	}
}

// carriedHeadersTravel has a message fail, wait, be parked and be redriven, and
// looks at the event that follows from it in the end.
func carriedHeadersTravel(f *fixture) {
	b := f.declared("test")
	m := wire(f, newIn())
	m.Headers = map[string]any{HeaderLane: "batch", "x-other": "stays here"}
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	calls := make(chan time.Time, 10)
	broken := service{
		retryDelays: []time.Duration{shortDelay},
		handle: counted(calls, func(ctx context.Context, _ in) ([]messaging.Event, error) {
			if lane := messaging.CarriedHeader(ctx, HeaderLane); lane != "batch" {
				f.Errorf("the handler finds the lane %q", lane)
			}
			return nil, errors.New("broken for now")
		}),
	}
	stop := f.serve(broken)
	receive(f, calls, "the first attempt")
	receive(f, calls, "the attempt after a delay")
	f.awaitContents(b, messaging.DeadQueue(stockQueue), 1)
	stop()
	if n, err := operator(b).Redrive(f.ctx, stockQueue, everything); n != 1 || err != nil {
		f.Fatalf("redriven %d, %v", n, err)
	}
	stop = f.serve(service{handle: func(_ context.Context, e in) ([]messaging.Event, error) {
		return []messaging.Event{outOf(e)}, nil
	}})
	d := f.next(outQueue)
	stop()
	if d.Header(HeaderLane) != "batch" || d.Header("x-other") != "" {
		f.Errorf("the event that follows has the headers %v", d.Headers)
	}
}

func onlyWhatIsCarried(f *fixture) {
	b := f.declared("test")
	ctx := messaging.WithHeader(messaging.WithHeader(f.ctx, HeaderLane, "main"), "x-other", "not ours")
	if err := Publisher(f, b, Billing, messaging.Instruments{}).Publish(ctx, newIn()); err != nil {
		f.Fatal(err)
	}
	if d := f.next(stockQueue); d.Header(HeaderLane) != "main" || d.Header("x-other") != "" {
		f.Errorf("published with the headers %v", d.Headers)
	}
}

// awaitContents waits until so many messages are in a queue.
func (f *fixture) awaitContents(b messaging.Broker, queue string, n int) {
	f.Helper()
	for len(f.contents(b, queue)) != n {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-f.ctx.Done():
			f.Fatalf("%s does not hold %d messages", queue, n)
		}
	}
}
