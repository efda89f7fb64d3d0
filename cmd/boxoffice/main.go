// Command boxoffice is a ticket box office built as a choreographed saga: its
// three services, and the tools to drive and to watch them.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

func main() {
	// The live heap is small, so the default collects garbage all the time.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		stop()
		impatient := time.Now().Add(sameSignal)
		for range signals {
			if time.Now().After(impatient) {
				os.Exit(exitInterrupted)
			}
		}
	}()
	os.Exit(run(ctx, os.Args[1:], console{os.Stdout, os.Stderr}))
}

// gcPercent is how much the heap may grow, in percent of what lives, between
// two collections.
const gcPercent = 400

// sameSignal is how long after the first a signal still means the same request
// to stop: timeout(1), for one, sends each twice.
const sameSignal = 250 * time.Millisecond
