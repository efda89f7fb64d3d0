package payments

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"boxoffice/internal/database"
	"boxoffice/tickets"
)

// Verdict is what the bank did.
type Verdict string

// The verdicts of the bank. Both are final.
const (
	Charged  Verdict = "charged"
	Declined Verdict = "declined"
)

// Entry is one line of the bank's ledger: its answer for one booking.
type Entry struct {
	BookingID uuid.UUID
	Amount    tickets.Amount
	Verdict   Verdict
}

// ledger is the bank's memory. Calls that come while a commit runs share the next.
type ledger struct {
	db      *database.DB
	finds   *database.Group[uuid.UUID, *Entry]
	entries *database.Group[Entry, Entry]
}

func newLedger(db *database.DB) *ledger {
	l := &ledger{db: db}
	l.finds = database.NewGroup(database.GroupConfig[uuid.UUID, *Entry]{Commit: l.findAll})
	l.entries = database.NewGroup(database.GroupConfig[Entry, Entry]{
		Commit: l.enterAll,
		Key:    func(e Entry) string { return string(e.BookingID[:]) },
	})
	return l
}

func (l *ledger) close() {
	l.finds.Close()
	l.entries.Close()
}

// find is the entry of a booking, or nil.
func (l *ledger) find(ctx context.Context, id uuid.UUID) (*Entry, error) { return l.finds.Do(ctx, id) }

// enter adds an entry, and returns the one that is there: the first one stays.
func (l *ledger) enter(ctx context.Context, e Entry) (Entry, error) { return l.entries.Do(ctx, e) }

func (l *ledger) findAll(ctx context.Context, ids []uuid.UUID) ([]*Entry, error) {
	entries, err := l.read(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look into the ledger: %w", err)
	}
	return inOrder(ids, entries, entryID), nil
}

func (l *ledger) enterAll(ctx context.Context, entries []Entry) ([]Entry, error) {
	rows, err := database.Resolve(ctx, entries, entryID, l.insert,
		func(ctx context.Context, entries []Entry) ([]Entry, error) {
			return l.read(ctx, idsOf(entries, entryID))
		})
	if err != nil {
		return nil, fmt.Errorf("enter into the ledger: %w", err)
	}
	return rows, nil
}

func entryID(e Entry) uuid.UUID { return e.BookingID }

func scanEntry(row database.Row) (Entry, error) {
	var e Entry
	var amount int64
	err := row.Scan(&e.BookingID, &amount, &e.Verdict)
	e.Amount = tickets.AmountFromMinor(amount)
	return e, err
}

// insert adds the entries that are new, in one order for all replicas, and
// returns them.
func (l *ledger) insert(ctx context.Context, entries []Entry) ([]Entry, error) {
	n := len(entries)
	amounts, verdicts, now := make([]int64, n), make([]string, n), make([]int64, n)
	for i, e := range entries {
		amounts[i], verdicts[i], now[i] = e.Amount.Minor(), string(e.Verdict), time.Now().UnixMicro()
	}
	from, args := l.db.Table(database.Col("booking_id", idsOf(entries, entryID)), database.Col("amount", amounts),
		database.Col("verdict", verdicts), database.Col("now", now))
	return database.Query(ctx, l.db, scanEntry, `
		INSERT INTO bank_ledger (booking_id, amount, verdict, created_at)
		SELECT booking_id, amount, verdict, now FROM `+from+` WHERE true ORDER BY booking_id
		ON CONFLICT (booking_id) DO NOTHING RETURNING booking_id, amount, verdict`, args...)
}

func (l *ledger) read(ctx context.Context, ids []uuid.UUID) ([]Entry, error) {
	from, args := l.db.Table(database.Col("booking_id", ids))
	return database.Query(ctx, l.db, scanEntry, `SELECT bank_ledger.booking_id, amount, verdict
		FROM `+from+` JOIN bank_ledger ON bank_ledger.booking_id = input.booking_id`, args...)
}

// charges is up to limit charges after a cursor, in the order of their ids.
func (l *ledger) charges(ctx context.Context, after uuid.UUID, limit int) ([]Entry, error) {
	found, err := database.Query(ctx, l.db, scanEntry, `SELECT booking_id, amount, verdict FROM bank_ledger
		WHERE booking_id > $1 AND verdict = 'charged' ORDER BY booking_id LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list charges: %w", err)
	}
	return found, nil
}

func idsOf[T any](rows []T, id func(T) uuid.UUID) []uuid.UUID {
	ids := make([]uuid.UUID, len(rows))
	for i, r := range rows {
		ids[i] = id(r)
	}
	return ids
}

// inOrder is the row of each id, or nil.
func inOrder[T any](ids []uuid.UUID, rows []T, id func(T) uuid.UUID) []*T {
	byID := make(map[uuid.UUID]*T, len(rows))
	for i := range rows {
		byID[id(rows[i])] = &rows[i]
	}
	ordered := make([]*T, len(ids))
	for i := range ids {
		ordered[i] = byID[ids[i]]
	}
	return ordered
}
