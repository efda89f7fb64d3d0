package load

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/client"
)

// near reports whether milliseconds are those of d, or a bucket's width more.
func near(ms float64, d time.Duration) bool {
	want := float64(d) / float64(time.Millisecond)
	return ms >= want && ms <= want*1.02
}

// The service answers nothing for a second in the middle. All who came in that
// second waited, not only those who were first.
func TestAStallIsSeenByAllWhoCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &service{answer: func(int) (time.Duration, error) {
			if since := time.Since(began); since >= time.Second && since < 2*time.Second {
				return 2*time.Second - since, nil
			}
			return time.Millisecond, nil
		}}
		res := New(config(Open), s).Run(t.Context())
		if res.Offered != 300 || res.NotSent != 0 || res.Seconds != 2.995 || len(res.Answers) != 1 {
			t.Fatalf("%+v", res)
		}
		a := res.Answers[0]
		if a.Status != 202 || a.Count != 300 || !near(a.P50, time.Millisecond) || !near(a.P95, 850*time.Millisecond) || !near(a.Max, time.Second) {
			t.Errorf("%+v", a)
		}
		for i, r := range s.requests {
			if want := time.Duration(i) * 10 * time.Millisecond; r.at.Sub(began) != want {
				t.Fatalf("request %d came at %s, not at %s", i, r.at.Sub(began), want)
			}
		}
	})
}

func TestWhatIsNotSentIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(int) (time.Duration, error) { return time.Second - time.Millisecond, nil }}
		cfg := config(Open)
		cfg.MaxOutstanding = 10
		res := New(cfg, s).Run(t.Context())
		if res.Offered != 300 || res.NotSent != 270 || len(s.requests) != 30 || res.Outcomes.Confirmed != 30 || len(res.Warnings) != 1 {
			t.Errorf("%d requests, %+v", len(s.requests), res)
		}
	})
}

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(int) (time.Duration, error) { return 50 * time.Millisecond, nil }}
		res := New(config(Closed), s).Run(t.Context()) // 4 clients, 150 ms each
		if res.Offered != 80 || res.Outcomes != (Outcomes{Confirmed: 80}) || res.Goodput.Finished < 25 || res.Goodput.Finished > 26.7 {
			t.Errorf("%+v", res)
		}
		if a := res.Answers[0]; !near(a.P50, 50*time.Millisecond) || !near(res.Saga.Max, 100*time.Millisecond) {
			t.Errorf("%+v", res)
		}
	})
}

func TestCount(t *testing.T) {
	for _, mode := range []Mode{Open, Closed} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			cfg := config(mode)
			cfg.Count = 8
			s := &service{}
			res := New(cfg, s).Run(t.Context())
			if res.Offered != 8 || len(s.requests) != 8 || res.Outcomes.Confirmed != 8 || time.Since(began) > time.Second {
				t.Errorf("%s: after %s %+v", mode, time.Since(began), res)
			}
		})
	}
}

func busy(after time.Duration) error {
	return &client.ProblemError{Status: http.StatusTooManyRequests, RetryAfter: after}
}

func TestRetriesHonourRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &service{answer: func(n int) (time.Duration, error) {
			if n < 2 {
				return 0, busy(time.Duration(n+2) * time.Second)
			}
			return 0, nil
		}}
		cfg := config(Closed)
		cfg.Count, cfg.Retries, cfg.Duration = 1, 2, time.Minute
		res := New(cfg, s).Run(t.Context())
		if len(s.requests) != 3 || s.requests[1].at.Sub(began) != 2*time.Second || s.requests[2].at.Sub(began) != 5*time.Second {
			t.Errorf("requests %+v", s.requests)
		}
		if res.Offered != 1 || res.Retries != 2 || res.Outcomes.Confirmed != 1 || len(res.Answers) != 2 || res.Answers[1].Count != 2 || res.Answers[0].Max != 0 {
			t.Errorf("%+v", res)
		}
	})
}

// Whoever is refused at last, or when nothing more is offered, leaves the seat to others.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(n int) (time.Duration, error) {
			if n < 2 {
				return 0, busy(time.Second)
			}
			return 0, nil
		}}
		cfg := config(Closed)
		cfg.Count, cfg.Retries, cfg.Duration, cfg.Seats, cfg.Concurrency = 2, 1, time.Minute, 1, 1
		res := New(cfg, s).Run(t.Context())
		if res.Offered != 2 || res.Retries != 1 || res.Outcomes.Confirmed != 1 || len(res.Warnings) != 0 {
			t.Errorf("%+v", res)
		}
		s = &service{answer: func(int) (time.Duration, error) { return 0, busy(time.Hour) }}
		cfg.Duration = time.Second
		began := time.Now()
		if res = New(cfg, s).Run(t.Context()); res.Retries != 0 || time.Since(began) != time.Second {
			t.Errorf("after %s %+v", time.Since(began), res)
		}
	})
}

func TestEachSeatOnce(t *testing.T) {
	for _, mode := range []Mode{Open, Closed} {
		synctest.Test(t, func(t *testing.T) {
			cfg := config(mode)
			cfg.Seats = 20
			s := &service{}
			res := New(cfg, s).Run(t.Context())
			seen := map[int]bool{}
			for _, r := range s.requests {
				seen[r.Seat] = true
			}
			if len(s.requests) != 20 || len(seen) != 20 || len(res.Warnings) != 1 || res.Seconds > 1 {
				t.Errorf("%s: %d requests for %d seats, %+v", mode, len(s.requests), len(seen), res)
			}
		})
	}
}

// Ctrl-C ends it soon, whatever the service does, and all is counted.
func TestInterrupted(t *testing.T) {
	for _, mode := range []Mode{Open, Closed} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{
				answer: func(n int) (time.Duration, error) { return time.Duration(n%2) * time.Hour, nil },
				saga:   func(int) (time.Duration, string) { return time.Hour, "Confirmed" },
			}
			ctx, stop := context.WithTimeout(t.Context(), 995*time.Millisecond)
			defer stop()
			began := time.Now()
			res := New(config(mode), s).Run(ctx)
			accepted := res.Offered / 2
			if time.Since(began) != 995*time.Millisecond+hurry || res.Seconds != 0.995 || res.NoAnswer != accepted || res.Outcomes != (Outcomes{Unfinished: accepted}) ||
				res.Failure != "not answered when the run ended" {
				t.Errorf("%s: after %s %+v", mode, time.Since(began), res)
			}
		})
	}
}

func TestOutcomesThatDoNotComeAreUnfinished(t *testing.T) {
	for _, mode := range []Mode{Open, Closed} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{saga: func(int) (time.Duration, string) { return time.Hour, "Confirmed" }}
			cfg := config(mode)
			cfg.Count = 4
			began := time.Now()
			res := New(cfg, s).Run(t.Context())
			if res.Outcomes != (Outcomes{Unfinished: 4}) || time.Since(began) < cfg.Settle || res.NoAnswer != 0 {
				t.Errorf("%s: after %s %+v", mode, time.Since(began), res)
			}
		})
	}
}

func TestAServiceThatIsAwayIsNotSpunOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(int) (time.Duration, error) { return 0, client.ErrUnreachable }}
		res := New(config(Closed), s).Run(t.Context())
		if res.NoAnswer != 4*30 || res.Failure != client.ErrUnreachable.Error() {
			t.Errorf("%+v", res)
		}
	})
}

func TestWarnsOfASoldOutHall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for share, want := range map[int]int{2: 0, 3: 1} {
			s := &service{saga: func(n int) (time.Duration, string) {
				if n%4 < share {
					return 0, "Rejected"
				}
				return 0, "Cancelled"
			}}
			cfg := config(Closed)
			cfg.Count = 100
			res := New(cfg, s).Run(t.Context())
			if len(res.Warnings) != want || res.Outcomes.Cancelled == 0 {
				t.Errorf("%d of 4 rejected: %v", share, res.Warnings)
			}
		}
	})
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(n int) (time.Duration, error) {
			switch n % 4 {
			case 0:
				return time.Hour, nil
			case 1:
				return 0, busy(0)
			case 2:
				return 0, errors.New("broken")
			}
			return 0, nil
		}}
		g := New(config(Open), s)
		done := make(chan struct{})
		go func() {
			defer close(done)
			g.Run(t.Context())
		}()
		time.Sleep(time.Second - time.Millisecond)
		if p, want := g.Progress(), (Progress{time.Second - time.Millisecond, 100, 25, 25, 25, 20, false}); p != want {
			t.Errorf("%+v, want %+v", p, want)
		}
		<-done
		if p := g.Progress(); !p.Settling || p.Finished != 75 || p.Outstanding != 0 {
			t.Errorf("%+v", p)
		}
	})
}
