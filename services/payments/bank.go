package payments

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/messaging"
)

// Bank is how the simulated bank behaves.
type Bank struct {
	Limit       messaging.Amount // the most that any card pays
	Delay       time.Duration    // how long a charge takes
	Concurrency int              // charges at a time; 0: 16
	// Fault, if set, is called at each stage of each new charge, and may hold it
	// until ctx ends. Its error is the bank's failure to answer.
	Fault func(ctx context.Context, s Stage) error
}

// Stage is a moment of a charge at which the bank may fail.
type Stage string

// The stages of a charge.
const (
	BeforeCharge Stage = "before" // nothing is charged yet
	AfterCharge  Stage = "after"  // it is charged or declined, and nobody was told
)

// bank is a system of its own: its ledger is committed on its own, before its
// answer is known to anybody. It answers from the ledger before it looks at
// the limit, the delay or a fault, so that asking again, after whatever crash
// or lost answer, neither charges twice nor declines what was charged.
type bank struct {
	Bank
	ledger *ledger
	slots  chan struct{} // one per charge at a time
}

func newBank(cfg Bank, db *database.DB) *bank {
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = 16
	}
	return &bank{Bank: cfg, ledger: newLedger(db), slots: make(chan struct{}, cfg.Concurrency)}
}

func (b *bank) close() { b.ledger.close() }

// charge charges a booking's amount once, or declines it for ever, and returns
// the ledger's entry. After an error it may have done either; ask again.
func (b *bank) charge(ctx context.Context, id uuid.UUID, amount messaging.Amount) (Entry, error) {
	// Without delay and faults the ledger's insert alone finds what is there.
	if b.Delay > 0 || b.Fault != nil {
		known, err := b.ledger.find(ctx, id)
		if err != nil || known != nil {
			return orZero(known), err
		}
	}
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-ctx.Done():
		return Entry{}, fmt.Errorf("wait for the bank: %w", ctx.Err())
	}
	if err := b.stage(ctx, BeforeCharge); err != nil {
		return Entry{}, err
	}
	if err := sleep(ctx, b.Delay); err != nil {
		return Entry{}, fmt.Errorf("wait for the bank: %w", err)
	}
	entry, err := b.ledger.enter(ctx, Entry{BookingID: id, Amount: amount, Verdict: b.judge(amount)})
	if err != nil {
		return Entry{}, err
	}
	if err := b.stage(ctx, AfterCharge); err != nil {
		return Entry{}, err
	}
	return entry, nil
}

func (b *bank) judge(amount messaging.Amount) Verdict {
	if amount.Cmp(b.Limit) > 0 {
		return Declined
	}
	return Charged
}

func (b *bank) stage(ctx context.Context, s Stage) error {
	if b.Fault == nil {
		return nil
	}
	if err := b.Fault(ctx, s); err != nil {
		return fmt.Errorf("the bank does not answer (%s the charge): %w", s, err)
	}
	return nil
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
