// Command boxoffice is a ticket box office built as a choreographed saga: its
// three services, and the tools to drive and to watch them.
package main

import (
	"context"
	"os"
	"runtime/debug"
)

func main() {
	// The live heap is small, so the default collects garbage all the time.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, end := context.WithCancelCause(context.Background())
	heedSignals(end)
	os.Exit(run(ctx, os.Args[1:], console{newStream(os.Stdout), newStream(os.Stderr)}))
}

// gcPercent is how much the heap may grow, in percent of what lives, between
// two collections.
const gcPercent = 400
