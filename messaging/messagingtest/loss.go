package messagingtest

import (
	"context"
	"sync"

	"boxoffice/messaging"
)

func losses() []clause {
	return []clause{
		{"a lost session's message comes again, counted", "", lostComesAgain},
		{"a lost session gives everything back and cancels its handlers", "", lossGivesAllBack},
		{"a late ack settles nothing and is an error", "", lateAckSettlesNothing},
		{"a dropped connection is a lost session", DropConnections, dropLosesSession},
		{"drops under load lose nothing that was confirmed", DropConnections, dropsUnderLoad},
	}
}

func lostComesAgain(f *fixture) {
	b := f.declared("publisher")
	f.publishAll(b, []string{"m"})
	const losses = 3
	counts := make(chan int, 100)
	c := f.consume(f.connect("consumer"), placedQueue, 1, func(_ context.Context, d *messaging.Delivery) {
		if string(d.Body) != "body of m" {
			f.Errorf("delivery %d brought %q", d.Count, d.Body)
		}
		counts <- d.Count
		if d.Count < losses {
			d.Settler.Lose()
		} else if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack: %v", err)
		}
	})
	for want := range losses + 1 {
		if got := receive(f, counts, "a redelivery"); got != want {
			f.Errorf("delivery %d says that there were %d before it", want+1, got)
		}
	}
	c.finish()
	f.expectContents(b, placedQueue)
}

func lossGivesAllBack(f *fixture) {
	b := f.declared("publisher")
	sent := ids("m", 5)
	f.publishAll(b, sent)
	first, contexts := make(chan *messaging.Delivery, 10), make(chan context.Context, 10)
	ended := make(chan error, 10)
	again := make(chan string, 100)
	c := f.consume(f.connect("consumer"), placedQueue, 5, func(ctx context.Context, d *messaging.Delivery) {
		if d.Count == 0 {
			contexts <- ctx
			first <- d
			<-ctx.Done()
			ended <- d.Settler.Ack()
			return
		}
		if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack %s: %v", d.ID, err)
		}
		again <- d.ID
	})
	var one *messaging.Delivery
	for range sent {
		one = receive(f, first, "the first deliveries")
	}
	one.Settler.Lose()
	for range sent {
		if ctx := receive(f, contexts, "the handlers' contexts"); ctx.Err() == nil {
			f.Error("a handler's context outlives its session")
		}
	}
	for range sent {
		if err := receive(f, ended, "the end of the handlers' contexts"); err == nil {
			f.Error("an ack to a lost session reports success")
		}
	}
	missing := map[string]bool{}
	for _, id := range sent {
		missing[id] = true
	}
	for len(missing) > 0 {
		delete(missing, receive(f, again, "all redeliveries"))
	}
	c.finish()
	f.expectContents(b, placedQueue)
}

// A client that numbers deliveries may let a late ack settle another message
// that has the same number in the next session.
func lateAckSettlesNothing(f *fixture) {
	b := f.declared("publisher")
	sent := ids("m", 3)
	f.publishAll(b, sent)
	first, second := make(chan *messaging.Delivery, 10), make(chan *messaging.Delivery, 10)
	c := f.consume(f.connect("consumer"), placedQueue, 3, func(_ context.Context, d *messaging.Delivery) {
		if d.Count == 0 {
			first <- d
		} else {
			second <- d
		}
	})
	var old []*messaging.Delivery
	for range sent {
		old = append(old, receive(f, first, "the first deliveries"))
	}
	old[0].Settler.Lose()
	for range sent {
		receive(f, second, "the redeliveries")
	}
	for _, d := range old {
		if err := d.Settler.Ack(); err == nil {
			f.Errorf("the late ack of %s reports success", d.ID)
		}
	}
	c.finish()
	f.drain(placedQueue, sent)
}

func dropLosesSession(f *fixture) {
	b := f.declared("publisher")
	f.publishAll(b, []string{"m"})
	first, again := make(chan error, 10), make(chan int, 10)
	started := make(chan struct{}, 10)
	c := f.consume(f.connect("consumer"), placedQueue, 1, func(ctx context.Context, d *messaging.Delivery) {
		if d.Count == 0 {
			started <- struct{}{}
			<-ctx.Done()
			first <- d.Settler.Ack()
			return
		}
		if err := d.Settler.Ack(); err != nil {
			f.Errorf("ack: %v", err)
		}
		again <- d.Count
	})
	receive(f, started, "the delivery")
	f.env.DropConnections(f.T)
	if err := receive(f, first, "the end of its context"); err == nil {
		f.Error("an ack over a dropped connection reports success")
	}
	receive(f, again, "the redelivery")
	c.finish()
	f.insist(b, message("next")) // the publisher is back too
	f.drain(placedQueue, []string{"next"})
}

func dropsUnderLoad(f *fixture) {
	b := f.declared("publisher")
	var mu sync.Mutex
	seen := map[string]bool{}
	progress := make(chan struct{}, 10_000)
	c := f.consume(f.connect("consumer"), placedQueue, 20, func(_ context.Context, d *messaging.Delivery) {
		mu.Lock()
		seen[d.ID] = true
		mu.Unlock()
		_ = d.Settler.Ack() // if that fails it is delivered again
		progress <- struct{}{}
	})
	sent := ids("m", 1000)
	work := make(chan string)
	var publishers sync.WaitGroup
	for range 16 {
		publishers.Go(func() {
			for id := range work {
				f.insist(b, message(id))
			}
		})
	}
	for i, id := range sent {
		if i%200 == 100 {
			receive(f, progress, "a delivery") // so that consuming is dropped under load too
			f.env.DropConnections(f.T)
		}
		work <- id
	}
	close(work)
	publishers.Wait()
	for {
		mu.Lock()
		n := len(seen)
		mu.Unlock()
		if n == len(sent) {
			break
		}
		receive(f, progress, "every confirmed message")
	}
	c.finish()
}
