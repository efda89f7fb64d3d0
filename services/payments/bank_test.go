package payments

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/messaging"
	"boxoffice/tickets"
)

// unlucky is a bank that fails to answer, where the lab lets it, the first n times.
func unlucky(n int64) Bank {
	b := plain()
	var asked atomic.Int64
	b.Random = func() float64 {
		if asked.Add(1) <= n {
			return 0
		}
		return 0.5
	}
	return b
}

// failing makes the bank of an unlucky replica fail at one stage.
func (r replica) failing(t *testing.T, at Stage) replica {
	t.Helper()
	r.post(t, "/lab/bank", `{"failure":0.5,"when":"`+string(at)+`"}`)
	return r
}

// A bank that does not answer, before it charges or after: the delivery is
// held, and the next try ends as the first would have, with one charge at most.
func TestBankThatDoesNotAnswer(t *testing.T) {
	for _, amount := range []tickets.Amount{affordable, tooMuch} {
		for _, stage := range []Stage{BeforeCharge, AfterCharge} {
			t.Run(amount.String()+" "+string(stage), func(t *testing.T) {
				onBoth(t, func(t *testing.T, url string) {
					r, id := newLabReplica(t, url, unlucky(1)).failing(t, stage), newID()
					if _, err := r.seatReserved(t.Context(), seatReserved(id, amount)); !messaging.IsUnavailable(err) || !errors.Is(err, errInjected) {
						t.Fatalf("%s: %v, want Unavailable", stage, err)
					}
					if asked := r.entry(t, id) != nil; asked != (stage == AfterCharge) {
						t.Errorf("failed %s the charge: in the ledger: %t", stage, asked)
					}
					if _, err := r.store.get(t.Context(), id); !errors.Is(err, errNotFound) {
						t.Errorf("there is a payment without an answer (%v)", err)
					}
					if amount == affordable {
						r.expect(t, seatReserved(id, amount), succeeded(id))
						r.expectRow(t, id, Succeeded, 1)
					} else {
						r.expect(t, seatReserved(id, amount), failed(id))
						r.expectRow(t, id, Failed, 0)
					}
				})
			})
		}
	}
}

// The process dies between the charge and the record; the one that takes over
// has another limit, and a bank that would not answer.
func TestCrashBetweenChargeAndRecord(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		before := newReplica(t, url, plain())
		charged, declined := newID(), newID()
		for id, amount := range map[[16]byte]tickets.Amount{charged: affordable, declined: tooMuch} {
			if _, err := before.bank.charge(t.Context(), id, amount); err != nil {
				t.Fatal(err)
			}
		}
		stingy, generous := unlucky(100), unlucky(100)
		stingy.Limit, generous.Limit = tickets.MustAmount("1"), tickets.MustAmount("1000000")
		a, b := newLabReplica(t, url, stingy).failing(t, BeforeCharge), newLabReplica(t, url, generous).failing(t, BeforeCharge)
		a.expect(t, seatReserved(charged, affordable), succeeded(charged))
		b.expect(t, seatReserved(declined, tooMuch), failed(declined))
		a.expectRow(t, charged, Succeeded, 1)
		b.expectRow(t, declined, Failed, 0)
	})
}

func TestBankTakesItsTimeButKnowsItsLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := plain()
		slow.Delay = time.Hour
		r, id := newReplica(t, "sqlite:", slow), newID()
		for _, want := range []time.Duration{time.Hour, 0} {
			start := time.Now()
			entry, err := r.bank.charge(t.Context(), id, affordable)
			// Less than a minute is the database's: in virtual time its waits may cost a little.
			if took := time.Since(start); err != nil || entry.Verdict != Charged || took < want || took > want+time.Minute {
				t.Errorf("%+v, %v after %v, want %v", entry, err, took, want)
			}
		}
	})
}

func TestBankChargesSoManyAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := plain()
		b.Concurrency, b.Delay = 3, time.Hour
		r := newReplica(t, "sqlite:", b)
		start := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := r.bank.charge(t.Context(), newID(), affordable); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start).Round(time.Hour); took != 4*time.Hour {
			t.Errorf("10 charges of an hour, 3 at a time, took %v", took)
		}
	})
}

// Nobody who gives up is charged later.
func TestGivingUpWhileTheBankWaits(t *testing.T) {
	limit := tickets.MustAmount("1000")
	for _, c := range []struct {
		name, gate string
		bank       Bank
	}{
		{"for its delay", "open", Bank{Limit: limit, Delay: time.Hour}},
		{"for its gate", "close", Bank{Limit: limit}},
		{"for a free slot", "open", Bank{Limit: limit, Delay: time.Hour, Concurrency: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newLabReplica(t, "sqlite:", c.bank)
				r.post(t, "/lab/gate/"+c.gate, "")
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var wg sync.WaitGroup
				for range 2 {
					wg.Go(func() {
						id := newID()
						if _, err := r.seatReserved(ctx, seatReserved(id, affordable)); !messaging.IsUnavailable(err) {
							t.Errorf("got %v, want Unavailable", err)
						}
						if e, err := r.bank.ledger.find(context.WithoutCancel(ctx), id); e != nil || err != nil {
							t.Errorf("the bank has %+v (%v)", e, err)
						}
					})
				}
				wg.Wait()
				if ctx.Err() == nil {
					t.Error("they gave up before their time")
				}
			})
		})
	}
}
