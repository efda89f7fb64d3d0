package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interruption is why a command is to end before its work is done: it mends
// what it has broken, and ends with this exit code.
type interruption struct {
	why  string
	code int
}

func (i *interruption) Error() string { return i.why }

// Is makes it what the end of a context is, as a rule.
func (i *interruption) Is(target error) bool { return target == context.Canceled }

// The exit codes are those of a shell for a command that a signal has ended.
var (
	errInterrupted = &interruption{"interrupted", exitInterrupted}
	errTerminated  = &interruption{"terminated", 128 + 15}
	errHungUp      = &interruption{"the terminal is closed", 128 + 1}
	errUnread      = &interruption{"nobody reads the output any more", 128 + 13}
)

// interruptedBy is the interruption that has ended ctx.
func interruptedBy(ctx context.Context) *interruption {
	if i, ok := errors.AsType[*interruption](context.Cause(ctx)); ok {
		return i
	}
	return errInterrupted
}

// sameSignal is how long after the first a signal still means the same request
// to stop: timeout(1), for one, sends each twice.
const sameSignal = 250 * time.Millisecond

// heedSignals ends the command at the first signal that asks for it. Who is
// impatient, and asks again, ends the process.
func heedSignals(end context.CancelCauseFunc) {
	// A write to a closed pipe is an error then, and does not kill us.
	signal.Ignore(syscall.SIGPIPE)
	meaning := map[os.Signal]*interruption{os.Interrupt: errInterrupted, syscall.SIGTERM: errTerminated}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup, for one
		meaning[syscall.SIGHUP] = errHungUp
	}
	signals := make(chan os.Signal, 4)
	for s := range meaning {
		signal.Notify(signals, s)
	}
	go func() { // for as long as the process lives
		end(meaning[<-signals])
		impatient := time.Now().Add(sameSignal)
		for s := range signals {
			// A terminal that closes tells it more than once, and nobody is there.
			if s != syscall.SIGHUP && time.Now().After(impatient) {
				os.Exit(meaning[s].code)
			}
		}
	}()
}
