package payments

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/tickets"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// store keeps one row per booking. Calls that come while a commit runs share
// the next one; each statement is a transaction of its own.
type store struct {
	db      *database.DB
	finds   *database.Group[uuid.UUID, *Payment]
	records *database.Group[Payment, Payment]
}

func newStore(db *database.DB) *store {
	s := &store{db: db}
	s.finds = database.NewGroup(database.GroupConfig[uuid.UUID, *Payment]{Commit: s.findAll})
	s.records = database.NewGroup(database.GroupConfig[Payment, Payment]{
		Commit: s.recordAll,
		Key:    func(p Payment) string { return string(p.BookingID[:]) },
	})
	return s
}

func (s *store) close() {
	s.finds.Close()
	s.records.Close()
}

// find is the payment of a booking, or nil.
func (s *store) find(ctx context.Context, id uuid.UUID) (*Payment, error) { return s.finds.Do(ctx, id) }

// record adds a payment, and returns the one that is there: the first one stays.
func (s *store) record(ctx context.Context, p Payment) (Payment, error) { return s.records.Do(ctx, p) }

func (s *store) findAll(ctx context.Context, ids []uuid.UUID) ([]*Payment, error) {
	payments, err := s.read(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("find payments: %w", err)
	}
	return inOrder(ids, payments, paymentID), nil
}

func (s *store) recordAll(ctx context.Context, payments []Payment) ([]Payment, error) {
	rows, err := database.Resolve(ctx, payments, paymentID, s.insert,
		func(ctx context.Context, payments []Payment) ([]Payment, error) {
			return s.read(ctx, idsOf(payments, paymentID))
		})
	if err != nil {
		return nil, fmt.Errorf("record payments: %w", err)
	}
	return rows, nil
}

func paymentID(p Payment) uuid.UUID { return p.BookingID }

// columns name their table, whose alias SQLite does not know after RETURNING.
const columns = `payments.booking_id, payments.seat, payments.amount, payments.status, payments.reason`

func scan(row database.Row) (Payment, error) { return scanWith(row) }

func scanWith(row database.Row, more ...any) (Payment, error) {
	var p Payment
	var amount int64
	err := row.Scan(append([]any{&p.BookingID, &p.Seat, &amount, &p.Status, &p.Reason}, more...)...)
	p.Amount = tickets.AmountFromMinor(amount)
	return p, err
}

// insert adds the payments that are new, in one order for all replicas, and
// returns them.
func (s *store) insert(ctx context.Context, payments []Payment) ([]Payment, error) {
	n := len(payments)
	seats, amounts := make([]int64, n), make([]int64, n)
	statuses, reasons, now := make([]string, n), make([]string, n), make([]int64, n)
	for i, p := range payments {
		seats[i], amounts[i] = int64(p.Seat), p.Amount.Minor()
		statuses[i], reasons[i], now[i] = string(p.Status), p.Reason, time.Now().UnixMicro()
	}
	from, args := s.db.Table(database.Col("booking_id", idsOf(payments, paymentID)), database.Col("seat", seats),
		database.Col("amount", amounts), database.Col("status", statuses), database.Col("reason", reasons), database.Col("now", now))
	return database.Query(ctx, s.db, scan, `
		INSERT INTO payments (booking_id, seat, amount, status, reason, created_at)
		SELECT booking_id, seat, amount, status, reason, now FROM `+from+` WHERE true ORDER BY booking_id
		ON CONFLICT (booking_id) DO NOTHING RETURNING `+columns, args...)
}

func (s *store) read(ctx context.Context, ids []uuid.UUID) ([]Payment, error) {
	from, args := s.db.Table(database.Col("booking_id", ids))
	return database.Query(ctx, s.db, scan, `SELECT `+columns+` FROM `+from+`
		JOIN payments ON payments.booking_id = input.booking_id`, args...)
}
