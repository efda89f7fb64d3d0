package payments

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/tickets"
)

// Bank is how the simulated bank behaves.
type Bank struct {
	Limit       tickets.Amount // the most that any card pays
	Delay       time.Duration  // how long a charge takes
	Concurrency int            // charges at a time; 0: 16
	// Random decides about the lab's failures: a number from 0 up to 1, safe for
	// concurrent use; nil: a random one.
	Random func() float64
}

// Stage is a moment of a charge at which the bank may fail to answer.
type Stage string

// The stages of a charge.
const (
	BeforeCharge Stage = "before" // nothing is charged yet
	AfterCharge  Stage = "after"  // it is charged or declined, and nobody was told
)

// bank is a system of its own: its ledger is committed on its own, before its
// answer is known to anybody. It answers from the ledger before it looks at
// the limit, the delay or the lab, so that asking again, after whatever crash
// or lost answer, neither charges twice nor declines what was charged.
type bank struct {
	Bank
	ledger *ledger
	lab    *lab
	slots  chan struct{} // one per charge at a time
	looks  bool          // into the ledger first
}

func newBank(cfg Config, db *database.DB, log *slog.Logger) *bank {
	b := &bank{Bank: cfg.Bank, ledger: newLedger(db), lab: newLab(db, log, cfg.Bank.Random)}
	if b.Concurrency <= 0 {
		b.Concurrency = 16
	}
	b.slots = make(chan struct{}, b.Concurrency)
	// Where nothing holds a charge up, the ledger's insert alone finds what is there.
	b.looks = b.Delay > 0 || cfg.Lab
	return b
}

func (b *bank) close() { b.ledger.close() }

// charge charges a booking's amount once, or declines it for ever, and returns
// the ledger's entry. After an error it may have done either; ask again.
func (b *bank) charge(ctx context.Context, id uuid.UUID, amount tickets.Amount) (Entry, error) {
	if b.looks {
		known, err := b.ledger.find(ctx, id)
		if err != nil || known != nil {
			return orZero(known), err
		}
	}
	leave, err := b.admit(ctx, id)
	if err != nil {
		return Entry{}, err
	}
	defer leave()
	if err := b.lab.fault(BeforeCharge); err != nil {
		return Entry{}, err
	}
	if err := sleep(ctx, b.lab.delay(b.Delay)); err != nil {
		return Entry{}, fmt.Errorf("wait for the bank: %w", err)
	}
	// The gate may have been closed meanwhile, and then nothing more is charged.
	if b.lab.closed() {
		leave() // it has taken its time; the place is for others
		if err := b.lab.passGate(ctx, id); err != nil {
			return Entry{}, err
		}
	}
	entry, err := b.ledger.enter(ctx, Entry{BookingID: id, Amount: amount, Verdict: b.judge(amount)})
	if err != nil {
		return Entry{}, err
	}
	if err := b.lab.fault(AfterCharge); err != nil {
		return Entry{}, err
	}
	return entry, nil
}

// admit waits until the gate is open and the bank has a free place, and takes
// it. What the gate holds has no place: it would keep others waiting for one
// that could be held at the gate, and given back to the broker, in their turn.
func (b *bank) admit(ctx context.Context, id uuid.UUID) (leave func(), err error) {
	for {
		if err := b.lab.passGate(ctx, id); err != nil {
			return nil, err
		}
		select {
		case b.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the bank: %w", ctx.Err())
		}
		leave = sync.OnceFunc(func() { <-b.slots })
		if !b.lab.closed() {
			return leave, nil
		}
		leave()
	}
}

func (b *bank) judge(amount tickets.Amount) Verdict {
	if amount.Cmp(b.Limit) > 0 {
		return Declined
	}
	return Charged
}

func orZero[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
