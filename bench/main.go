// Command bench measures, in one run on one RabbitMQ and one PostgreSQL that it
// starts for itself:
//
//   - limit: three persistent, mandatory, confirmed hops through quorum queues
//     with amqp091-go and nothing else. No saga of three events can be faster.
//   - saga: whole bookings over HTTP, through the three services on
//     PostgreSQL, from POST to Confirmed.
//   - door: the rate of 202 answers, beside that of the same endpoint with one
//     transaction per request.
//   - recovery: the time from when the broker's port opens, after an outage, to
//     the first Confirmed.
//
// Its last line is the saga's rate divided by the limit, both with the most
// bookings in flight.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The parts of a run.
const (
	partLimit = "limit"
	partSaga  = "saga"
	partDoor  = "door"

	partRecovery = "recovery"
)

// settings are what the command line says.
type settings struct {
	duration   time.Duration
	rounds     int
	only       []string
	cpuProfile string
}

func main() {
	debug.SetGCPercent(400) // as cmd/boxoffice does
	s, err := readFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = runUntilSignal(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func readFlags(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.DurationVar(&s.duration, "duration", 8*time.Second, "how long each measurement counts, after its warm-up")
	flags.IntVar(&s.rounds, "rounds", 2, "how often limit and saga are measured in turn; the means count")
	only := flags.String("only", "", "measure these parts only: limit, saga, door, recovery, separated by commas")
	flags.StringVar(&s.cpuProfile, "cpuprofile", "", "write a CPU profile of the first saga measurement with the most in flight to this file")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	s.only = []string{partLimit, partSaga, partDoor, partRecovery}
	if *only != "" {
		s.only = strings.Split(*only, ",")
	}
	for _, part := range s.only {
		if !slices.Contains([]string{partLimit, partSaga, partDoor, partRecovery}, part) {
			return s, fmt.Errorf("-only=%q: use limit, saga, door or recovery", part)
		}
	}
	if s.duration < time.Second || s.duration > time.Hour {
		return s, fmt.Errorf("-duration=%s: use 1s to 1h", s.duration)
	}
	if s.rounds < 1 || s.rounds > 100 {
		return s, fmt.Errorf("-rounds=%d: use 1 to 100", s.rounds)
	}
	return s, nil
}

func (s settings) wants(part string) bool { return slices.Contains(s.only, part) }

func runUntilSignal(s settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, s)
}
