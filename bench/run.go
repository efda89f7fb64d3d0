package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// The loads that are measured, in sagas in flight and in clients of the door.
const (
	fewInFlight  = 64
	mostInFlight = 256
	doorClients  = 256
)

// run measures everything that is wanted and prints the results.
func run(ctx context.Context, s settings) (err error) {
	servers, err := startServers(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.close()) }() //nolint:contextcheck // they end whatever ctx says
	b := &bench{settings: s, servers: servers}
	if s.wants(partLimit) || s.wants(partSaga) {
		if err := b.flow(ctx); err != nil {
			return err
		}
	}
	if s.wants(partDoor) {
		if err := b.doors(ctx); err != nil {
			return err
		}
	}
	if s.wants(partRecovery) {
		if err := b.recovery(ctx); err != nil {
			return fmt.Errorf("the recovery: %w", err)
		}
	}
	fmt.Print(b.results.report(b.included()))
	return nil
}

// bench is one run.
type bench struct {
	settings
	servers *servers
	results results
	vhosts  int
}

// flow measures limit and saga in turn, so that whatever else the machine does
// meets both.
func (b *bench) flow(ctx context.Context) error {
	for round := range b.rounds {
		for _, inFlight := range []int{fewInFlight, mostInFlight} {
			if b.wants(partLimit) {
				if err := b.limit(ctx, inFlight); err != nil {
					return fmt.Errorf("the limit with %d in flight: %w", inFlight, err)
				}
			}
			if b.wants(partSaga) {
				profile := round == 0 && inFlight == mostInFlight
				if err := b.saga(ctx, inFlight, profile); err != nil {
					return fmt.Errorf("sagas with %d in flight: %w", inFlight, err)
				}
			}
		}
	}
	return nil
}

// measure runs one measurement and keeps its result.
func (b *bench) measure(ctx context.Context, name string, clients int, do func(ctx context.Context, client int) error) error {
	runtime.GC() // what an earlier measurement left is not this one's
	r, err := measure(ctx, name, clients, b.duration, do)
	if err != nil {
		return err
	}
	b.results.add(name, clients, r)
	return nil
}

// profiled writes a CPU profile of work, if one is wanted.
func (b *bench) profiled(wanted bool, work func() error) (err error) {
	if !wanted || b.cpuProfile == "" {
		return work()
	}
	file, err := os.Create(b.cpuProfile)
	if err != nil {
		return fmt.Errorf("-cpuprofile: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return fmt.Errorf("-cpuprofile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return work()
}

// vhost is an empty vhost of the broker.
func (b *bench) vhost(ctx context.Context) (url string, err error) {
	b.vhosts++
	return b.servers.rabbit.CreateVHost(ctx, fmt.Sprintf("bench-%d", b.vhosts))
}

// included says what the figures mean.
func (b *bench) included() string {
	return fmt.Sprintf(`
One RabbitMQ node, one PostgreSQL with its default durability, the services and
their clients share this machine's %d processors. Closed loop, %s of warm-up,
then %s; limit and saga in turn, %d time(s).

limit  three persistent, mandatory, confirmed publishes through quorum queues with
       amqp091-go, each acknowledged after the next confirm; no HTTP, no database.
saga   POST /bookings with Prefer: wait, three services in this process behind
       loopback HTTP, a database for each; every answer is 202 and Confirmed. As by
       default, but for LOG_LEVEL=warn, a bank that takes no time for any number of
       charges at once, a seat for everybody, and a door as wide as what is in flight.
       Tracing is on, with no endpoint.
door   POST /bookings, 202 once the row is committed. Its saga ends in the memory of
       this process. Without groups: the same endpoint and row, but no budgets and
       nothing published.
recovery  the port of a broker that runs is closed for %s, with all its connections
       cut; three services with connections of their own.

own    this process: services and clients.
`, runtime.NumCPU(), warmUp, b.duration, b.rounds, outage)
}
