package payments

import (
	"context"
	"fmt"
	"time"

	"boxoffice/internal/database"
)

// change is what a request wants to be different; nil: as it is.
type change struct {
	closed  *bool
	failure *float64
	when    *Stage
	delay   *time.Duration
}

const labColumns = `version, gate_closed, failure, fails_when, delay`

func scanConditions(row database.Row) (c conditions, err error) {
	var delay *int64
	err = row.Scan(&c.version, &c.closed, &c.failure, &c.when, &delay)
	if delay != nil {
		c.delay = new(time.Duration(*delay) * time.Microsecond)
	}
	return c, err
}

// look reads the conditions, and obeys them.
func (l *lab) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // a lost connection must not blind the replica for long
	defer cancel()
	c, err := scanConditions(l.db.QueryRowContext(ctx, `SELECT `+labColumns+` FROM lab`))
	if err != nil {
		return fmt.Errorf("read the lab's conditions: %w", err)
	}
	l.apply(ctx, c)
	return nil
}

// change changes the conditions for all replicas, and obeys them.
func (l *lab) change(ctx context.Context, w change) error {
	var delay *int64
	if w.delay != nil {
		delay = new(w.delay.Microseconds())
	}
	c, err := scanConditions(l.db.QueryRowContext(ctx, `
		UPDATE lab SET version = version + 1, gate_closed = COALESCE($1, gate_closed), failure = COALESCE($2, failure),
			fails_when = COALESCE($3, fails_when), delay = COALESCE($4, delay)
		RETURNING `+labColumns, w.closed, w.failure, w.when, delay))
	if err != nil {
		return fmt.Errorf("change the lab's conditions: %w", err)
	}
	l.apply(ctx, c)
	return nil
}

// reset forgets what was charged, what was recorded, and what the lab did.
func (l *lab) reset(ctx context.Context) error {
	c, err := l.forget(ctx)
	if err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	l.apply(ctx, c)
	return nil
}

func (l *lab) forget(ctx context.Context) (c conditions, err error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return c, err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	for _, statement := range []string{`DELETE FROM payments`, `DELETE FROM bank_ledger`} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return c, err
		}
	}
	c, err = scanConditions(tx.QueryRowContext(ctx, `
		UPDATE lab SET version = version + 1, gate_closed = FALSE, failure = 0, fails_when = 'before', delay = NULL
		RETURNING `+labColumns))
	if err != nil {
		return c, err
	}
	return c, tx.Commit()
}
