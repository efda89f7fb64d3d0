package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	warmUp       = 2 * time.Second
	tellInterval = 2 * time.Second
	// lastOne is how long what is in flight at the end may take, beyond which
	// the measurement has failed.
	lastOne = 30 * time.Second
)

// sample is what one measurement counted.
type sample struct {
	rate      float64 // per second
	latencies []time.Duration
	cpu       usage // for each that was done
}

// measure runs a closed loop: each client does one after the other. Those that
// finish after the warm-up and before the end count. The first error ends it.
func measure(ctx context.Context, name string, clients int, duration time.Duration, do func(ctx context.Context, client int) error) (sample, error) {
	begin := time.Now().Add(warmUp)
	end := begin.Add(duration)
	ctx, cancel := context.WithDeadline(ctx, end.Add(lastOne))
	defer cancel()
	var finished atomic.Int64
	latencies := make([][]time.Duration, clients)
	running, workCtx := errgroup.WithContext(ctx)
	for client := range clients {
		running.Go(func() error {
			for start := time.Now(); start.Before(end); {
				if err := do(workCtx, client); err != nil {
					return err
				}
				now := time.Now()
				finished.Add(1)
				if now.After(begin) && now.Before(end) {
					latencies[client] = append(latencies[client], now.Sub(start))
				}
				start = now
			}
			return nil
		})
	}
	var cpu usage
	running.Go(func() error {
		cpu = cpuPerOne(workCtx, begin, end, &finished)
		return nil
	})
	stop := tell(name, clients, &finished)
	err := running.Wait()
	stop()
	if err != nil {
		return sample{}, err
	}
	all := slices.Concat(latencies...)
	return sample{rate: float64(len(all)) / duration.Seconds(), latencies: all, cpu: cpu}, nil
}

// tell prints a line of progress now and then, until it is stopped.
func tell(name string, clients int, finished *atomic.Int64) (stop func()) {
	done, told := make(chan struct{}), make(chan struct{})
	ticker := time.NewTicker(tellInterval)
	go func() {
		defer close(told)
		for last := int64(0); ; {
			select {
			case <-ticker.C:
				n := finished.Load()
				fmt.Fprintf(os.Stderr, "%s, %d at a time: %.0f/s\n", name, clients, float64(n-last)/tellInterval.Seconds())
				last = n
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		<-told
	}
}
