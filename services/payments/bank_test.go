package payments

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/messaging"
)

var errSilent = errors.New("no answer")

// faulty is a bank that fails to answer at one stage, the first n times.
func faulty(at Stage, n int) Bank {
	b := plain()
	b.Fault = func(_ context.Context, s Stage) error {
		if s == at && n > 0 {
			n--
			return errSilent
		}
		return nil
	}
	return b
}

// A bank that does not answer, before it charges or after: the delivery is
// held, and the next try ends as the first would have, with one charge at most.
func TestBankThatDoesNotAnswer(t *testing.T) {
	for _, amount := range []messaging.Amount{affordable, tooMuch} {
		for _, stage := range []Stage{BeforeCharge, AfterCharge} {
			t.Run(amount.String()+" "+string(stage), func(t *testing.T) {
				onBoth(t, func(t *testing.T, url string) {
					r, id := newReplica(t, url, faulty(stage, 1)), newID()
					if _, err := r.seatReserved(t.Context(), seatReserved(id, amount)); !messaging.IsUnavailable(err) || !errors.Is(err, errSilent) {
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
		for id, amount := range map[[16]byte]messaging.Amount{charged: affordable, declined: tooMuch} {
			if _, err := before.bank.charge(t.Context(), id, amount); err != nil {
				t.Fatal(err)
			}
		}
		stingy, generous := faulty(BeforeCharge, 100), faulty(BeforeCharge, 100)
		stingy.Limit, generous.Limit = messaging.MustAmount("1"), messaging.MustAmount("1000000")
		a, b := newReplica(t, url, stingy), newReplica(t, url, generous)
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
		var mu sync.Mutex
		inside, most := 0, 0
		gate := make(chan struct{})
		b := plain()
		b.Concurrency = 3
		b.Fault = func(_ context.Context, s Stage) error {
			mu.Lock()
			if s == BeforeCharge {
				inside++
				most = max(most, inside)
			} else {
				inside--
			}
			mu.Unlock()
			<-gate
			return nil
		}
		r := newReplica(t, "sqlite:", b)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := r.bank.charge(t.Context(), newID(), affordable); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Hour) // all are where they can get
		mu.Lock()
		if inside != 3 {
			t.Errorf("%d charges run behind a closed gate, want 3", inside)
		}
		mu.Unlock()
		close(gate)
		wg.Wait()
		if most != 3 || inside != 0 {
			t.Errorf("at most %d at a time, %d left over", most, inside)
		}
	})
}

// Nobody who gives up is charged later.
func TestGivingUpWhileTheBankWaits(t *testing.T) {
	for _, c := range []struct {
		name string
		bank Bank
	}{
		{"for its delay", Bank{Limit: messaging.MustAmount("1000"), Delay: time.Hour}},
		{"for its gate", Bank{Limit: messaging.MustAmount("1000"), Fault: func(ctx context.Context, _ Stage) error {
			<-ctx.Done()
			return ctx.Err()
		}}},
		{"for a free slot", Bank{Limit: messaging.MustAmount("1000"), Delay: time.Hour, Concurrency: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReplica(t, "sqlite:", c.bank)
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
			})
		})
	}
}
