package payments

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"boxoffice/internal/database"
)

// errNotFound is the error of looking up a payment that does not exist.
var errNotFound = errors.New("no such payment")

// view is a payment beside what the bank's ledger says about it.
type view struct {
	Payment
	charges int // how often the booking was charged
}

const viewColumns = columns + `,
	(SELECT count(*) FROM bank_ledger WHERE bank_ledger.booking_id = payments.booking_id AND verdict = 'charged')`

func scanView(row database.Row) (v view, err error) {
	v.Payment, err = scanWith(row, &v.charges)
	return v, err
}

// get is one booking's payment, or errNotFound.
func (s *store) get(ctx context.Context, id uuid.UUID) (view, error) {
	v, err := scanView(s.db.QueryRowContext(ctx, `SELECT `+viewColumns+` FROM payments WHERE booking_id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return v, errNotFound
	}
	if err != nil {
		return v, fmt.Errorf("get payment: %w", err)
	}
	return v, nil
}

// list is up to limit payments after a cursor, in the order of their ids.
func (s *store) list(ctx context.Context, after uuid.UUID, limit int) ([]view, error) {
	found, err := database.Query(ctx, s.db, scanView,
		`SELECT `+viewColumns+` FROM payments WHERE booking_id > $1 ORDER BY booking_id LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list payments: %w", err)
	}
	return found, nil
}
