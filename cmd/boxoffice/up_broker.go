package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

const (
	brokerLook      = time.Second
	brokerFirstWait = 3 * time.Second // between the first two lines about a broker that is away
	brokerLastWait  = 30 * time.Second
)

// brokerWatch tells a person that up waits for its broker.
type brokerWatch struct {
	url   string // without a password
	ready func() error
	out   io.Writer
}

// run looks until ctx ends, and says less and less often that it waits.
func (w brokerWatch) run(ctx context.Context) {
	look := time.NewTicker(brokerLook)
	defer look.Stop()
	var due time.Time
	wait := time.Duration(0) // 0: it works
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		switch err := w.ready(); {
		case err == nil && wait > 0:
			fmt.Fprintf(w.out, "the broker at %s works\n", w.url)
			wait = 0
		case err != nil && (wait == 0 || !time.Now().Before(due)):
			fmt.Fprintf(w.out, "waiting for the broker at %s: %s\n", w.url, oneLine(err))
			wait = min(max(2*wait, brokerFirstWait), brokerLastWait)
			due = time.Now().Add(wait)
		}
	}
}
