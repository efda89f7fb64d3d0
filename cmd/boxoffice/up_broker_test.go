package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Nothing listens where the broker should be: up says so, and where, without a flood.
func TestUpSaysWhichBrokerItWaitsFor(t *testing.T) {
	t.Parallel()
	up := start(t, anyPorts("BROKER_URL=amqp://guest:hush@127.0.0.1:1/"), "up")
	up.out.find(t, `^waiting for the broker at amqp://guest:xxxxx@127\.0\.0\.1:1/: the broker is unreachable: .* refused$`)
	if !strings.HasPrefix(up.out.String(), "broker    amqp://guest:xxxxx@127.0.0.1:1/\n") {
		t.Errorf("it begins with\n%s", up.out)
	}
	line := up.err.find(t, `no connection to the broker; .* in=(\S+)$`)[1]
	if d, err := time.ParseDuration(line); err != nil || d%time.Millisecond != 0 {
		t.Errorf("in=%s", line)
	}
	if n := strings.Count(up.err.String(), "no connection to the broker"); n > 2 {
		t.Errorf("%d lines about the same", n)
	}
}

func TestBrokerWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		away := errors.New("no\nway")
		at := map[time.Duration]bool{}
		out := newOutput()
		w := brokerWatch{url: "amqp://h/", out: out, ready: func() error {
			switch d := time.Since(began); {
			case d < 60*time.Second, d > 100*time.Second && d < 102*time.Second:
				return away
			}
			return nil
		}}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.run(ctx)
		}()
		seen := 0
		for range 110 {
			time.Sleep(time.Second)
			synctest.Wait()
			if n := strings.Count(out.String(), "waiting for"); n > seen {
				seen, at[time.Since(began)] = n, true
			}
		}
		stop()
		<-done
		for _, s := range []int{1, 4, 10, 22, 46, 101} {
			if d := time.Duration(s) * time.Second; !at[d] {
				t.Errorf("nothing is said after %s", d)
			}
		}
		if text := out.String(); len(at) != 6 || strings.Count(text, "the broker at amqp://h/ works\n") != 2 || !strings.Contains(text, "waiting for the broker at amqp://h/: no; way\n") {
			t.Errorf("said at %v\n%s", at, text)
		}
	})
}

func TestSparingHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := newOutput()
		all := sparingHandler{slog.NewTextHandler(out, nil), &said{complaints: map[complaint]*pauses{}}}
		one, two := slog.New(all).With("connection", "one"), slog.New(all).WithGroup("g")
		gone, reset := errors.New("refused"), errors.New("reset")
		for range 20 { // seconds
			one.Warn("gone", "error", gone)
			two.Warn("gone", "error", gone)
			two.Warn("gone", "error", reset)
			time.Sleep(time.Second)
		}
		one.Info("connected")
		two.Warn("gone", "error", gone)
		text := out.String()
		if n := strings.Count(text, "error=refused"); n != 4 { // at 0, 5, 15 s and after the connection
			t.Errorf("%d complaints\n%s", n, text)
		}
		if n := strings.Count(text, "error=reset"); n != 3 || !strings.Contains(text, "connected connection=one") {
			t.Errorf("%d others\n%s", n, text)
		}
		for i := range 3 * maxComplaints {
			one.Warn("gone", "error", time.Duration(i))
		}
		if n := len(all.said.complaints); n > maxComplaints {
			t.Errorf("%d are remembered", n)
		}
	})
}

// With LOG_LEVEL=warn the line that it works again is not shown, but counts.
func TestTheNextOutageIsNews(t *testing.T) {
	var out strings.Builder
	log := slog.New(sparingHandler{
		slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}), &said{complaints: map[complaint]*pauses{}},
	})
	for range 2 {
		log.Warn("no connection to the broker", "error", "refused")
		log.Info("connected to the broker")
	}
	if text := out.String(); strings.Count(text, "no connection") != 2 || strings.Contains(text, "connected to") {
		t.Errorf("two outages: %s", text)
	}
}
