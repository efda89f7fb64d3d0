package messagingtest

import (
	"context"
	"errors"
	"slices"

	"boxoffice/messaging"
)

func browsing() []clause {
	return []clause{
		{"browsing shows all, oldest first, and takes nothing, however often", "", browseTakesNothing},
		{"browsing removes exactly what it is told to", "", browseRemovesExactly},
		{"an error from a visit removes nothing more", "", visitErrorStops},
		{"what arrives meanwhile is not visited", "", arrivalsAreNotVisited},
		{"two at once never see the same message, and the second is told", "", twoBrowsesAreDisjoint},
		{"a queue that does not exist is ErrNoQueue", "", missingQueue},
		{"the end of the context removes nothing more", "", contextEndsBrowse},
		{"a drop loses nothing", DropConnections, dropDuringBrowse},
	}
}

func browseTakesNothing(f *fixture) {
	b := f.declared("operator")
	if got := f.contents(b, messaging.DeadQueue(stockQueue)); len(got) != 0 {
		f.Errorf("an empty queue shows %v", got)
	}
	sent := ids("m", 70) // more than a consumer's usual prefetch
	dead := f.park(b, stockQueue, sent)
	for i := range messaging.WorkDeliveryLimit + 5 {
		if got := f.contents(b, dead); !slices.Equal(got, sent) {
			f.Fatalf("look %d shows %d messages, not the %d in order: %v", i+1, len(got), len(sent), got)
		}
	}
	f.drain(dead, sent)
}

func browseRemovesExactly(f *fixture) {
	b := f.declared("operator")
	sent := ids("m", 30)
	dead := f.park(b, stockQueue, sent)
	var kept []string
	i := 0
	err := b.Browse(f.ctx, dead, func(_ context.Context, m messaging.Message) (bool, error) {
		if string(m.Body) != "body of "+m.ID {
			f.Errorf("%s has body %q", m.ID, m.Body)
		}
		i++
		if i%3 == 0 {
			return true, nil
		}
		kept = append(kept, m.ID)
		return false, nil
	})
	if err != nil {
		f.Fatalf("browse: %v", err)
	}
	if len(kept) != 20 {
		f.Errorf("%d messages were kept, want 20", len(kept))
	}
	if got := f.contents(f.connect("another"), dead); !slices.Equal(got, kept) {
		f.Errorf("%v are left, want %v", got, kept)
	}
}

func visitErrorStops(f *fixture) {
	b := f.declared("operator")
	sent := ids("m", 10)
	dead := f.park(b, stockQueue, sent)
	stop := errors.New("stop here")
	visits := 0
	err := b.Browse(f.ctx, dead, func(context.Context, messaging.Message) (bool, error) {
		if visits++; visits == 4 {
			return false, stop
		}
		return true, nil
	})
	if !errors.Is(err, stop) || visits != 4 {
		f.Errorf("after %d visits: %v, want the error of the fourth", visits, err)
	}
	if got := f.contents(b, dead); !slices.Equal(got, sent[3:]) {
		f.Errorf("%v are left, want %v", got, sent[3:])
	}
}

func arrivalsAreNotVisited(f *fixture) {
	b := f.declared("operator")
	sent := ids("m", 3)
	dead := f.park(b, stockQueue, sent)
	var visited []string
	err := b.Browse(f.ctx, dead, func(ctx context.Context, m messaging.Message) (bool, error) {
		visited = append(visited, m.ID)
		return true, b.Publish(ctx, Shop().DeadExchange(), stockQueue, message("new-"+m.ID)) // as a redrive that fails again would
	})
	if err != nil || !slices.Equal(visited, sent) {
		f.Errorf("visited %v and then: %v", visited, err)
	}
	f.expectContents(b, dead, "new-"+sent[0], "new-"+sent[1], "new-"+sent[2])
}

func twoBrowsesAreDisjoint(f *fixture) {
	b := f.declared("operator")
	sent := ids("m", 20)
	dead := f.park(b, stockQueue, sent)
	var first, second []string
	other := f.connect("other operator")
	err := b.Browse(f.ctx, dead, func(ctx context.Context, m messaging.Message) (bool, error) {
		if first = append(first, m.ID); len(first) != 5 {
			return false, nil
		}
		err := other.Browse(ctx, dead, func(_ context.Context, m messaging.Message) (bool, error) {
			second = append(second, m.ID)
			return false, nil
		})
		if !errors.Is(err, messaging.ErrHeld) {
			f.Errorf("the second look ends with %v, want ErrHeld", err)
		}
		return false, nil
	})
	if err != nil {
		f.Fatalf("browse: %v", err)
	}
	for _, id := range second {
		if slices.Contains(first, id) {
			f.Errorf("both saw %s", id)
		}
	}
	f.expectContents(b, dead, sent...)
}

func missingQueue(f *fixture) {
	b := f.declared("operator")
	err := b.Browse(f.ctx, "stock.Nothing.dead", func(context.Context, messaging.Message) (bool, error) {
		f.Error("a queue that does not exist has a message")
		return false, nil
	})
	if !errors.Is(err, messaging.ErrNoQueue) {
		f.Errorf("got %v, want ErrNoQueue", err)
	}
	f.publish(b, Shop().EventsExchange(), "OrderPlaced", message("m")) // the connection still works
	f.expectContents(b, placedQueue, "m")
}

func contextEndsBrowse(f *fixture) {
	b := f.declared("operator")
	sent := ids("m", 5)
	dead := f.park(b, stockQueue, sent)
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	visits := 0
	err := b.Browse(ctx, dead, func(ctx context.Context, _ messaging.Message) (bool, error) {
		if visits++; visits == 2 {
			cancel()
			receive(f, ctx.Done(), "the end of the visit's context")
			return false, nil
		}
		return true, nil
	})
	if !errors.Is(err, context.Canceled) || visits != 2 {
		f.Errorf("after %d visits: %v, want context.Canceled at the second", visits, err)
	}
	f.expectContents(b, dead, sent[1:]...)
}

func dropDuringBrowse(f *fixture) {
	b := f.declared("operator")
	sent := ids("m", 10)
	dead := f.park(b, stockQueue, sent)
	visits := 0
	err := b.Browse(f.ctx, dead, func(context.Context, messaging.Message) (bool, error) {
		if visits++; visits == 3 {
			f.env.DropConnections(f.T)
		}
		return visits == 2, nil
	})
	if err == nil && visits != len(sent) {
		f.Errorf("Browse reports success after %d of %d visits", visits, len(sent))
	}
	left := append([]string{sent[0]}, sent[2:]...)
	f.drain(dead, left)
}
