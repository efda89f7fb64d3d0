package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/internal/database"
	"boxoffice/internal/httpserver"
	"boxoffice/internal/participant"
	"boxoffice/services/booking"
	"boxoffice/tickets"
)

// ungrouped is a booking service whose POST /bookings commits each row by
// itself. It does less than the real one: it has no budgets and publishes nothing.
type ungrouped struct {
	*booking.Service
	deps    participant.Deps
	commit  commit
	handler http.Handler
}

// commit runs one insert.
type commit func(ctx context.Context, db *database.DB, insert func(execer) error) error

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// byItself leaves the transaction to the database.
func byItself(_ context.Context, db *database.DB, insert func(execer) error) error { return insert(db) }

// inTransaction opens one.
func inTransaction(ctx context.Context, db *database.DB, insert func(execer) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := insert(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func newUngrouped(s *booking.Service, deps participant.Deps, c commit) *ungrouped {
	u := &ungrouped{Service: s, deps: deps, commit: c}
	e, _ := s.HTTP()
	e.POST("/bookings", u.post)
	e.GET("/stats", echo.WrapHandler(s.Handler()))
	u.handler = e
	return u
}

// Handler serves the endpoint.
func (u *ungrouped) Handler() http.Handler { return u.handler }

// row is a booking as its client sees it.
type row struct {
	ID        uuid.UUID      `json:"id"`
	Seat      int            `json:"seat"`
	Customer  string         `json:"customer"`
	Amount    tickets.Amount `json:"amount"`
	Status    booking.Status `json:"status"`
	TraceID   string         `json:"traceId"`
	CreatedAt time.Time      `json:"createdAt"`
	UpdatedAt time.Time      `json:"updatedAt"`
}

func (u *ungrouped) post(c echo.Context) error {
	o, err := httpserver.DecodeObject(c)
	if err != nil {
		return err
	}
	ctx, now := c.Request().Context(), time.Now()
	r := row{
		ID: uuid.Must(uuid.NewV7()), Status: booking.Pending, CreatedAt: now, UpdatedAt: now,
		Seat: o.Int("seat", 1, tickets.MaxSeat), Customer: o.Text("customer", 1, 200),
		Amount: httpserver.Field(o, "amount", func(raw json.RawMessage) (a tickets.Amount, err error) {
			err = a.UnmarshalJSON(raw)
			return a, err
		}),
		TraceID: trace.SpanContextFromContext(ctx).TraceID().String(),
	}
	if err := o.Err(); err != nil {
		return err
	}
	headers := propagation.MapCarrier{}
	u.deps.Telemetry.Propagator.Inject(ctx, headers)
	if err := u.commit(ctx, u.deps.DB, func(db execer) error { return r.insert(ctx, db, headers) }); err != nil {
		return fmt.Errorf("insert a booking: %w", err)
	}
	c.Response().Header().Set(echo.HeaderLocation, "/bookings/"+r.ID.String())
	return c.JSON(http.StatusAccepted, r)
}

func (r row) insert(ctx context.Context, db execer, headers propagation.MapCarrier) error {
	text, err := json.Marshal(headers)
	if err != nil {
		return err
	}
	now := r.CreatedAt.UnixMicro()
	_, err = db.ExecContext(ctx, `
		INSERT INTO bookings (id, seat, customer, amount, status, instance, trace_id, trace_context,
		                      created_at, updated_at, started_at, redrive_at)
		VALUES ($1, $2, $3, $4, 'Pending', 'bench', $5, $6, $7, $7, $7, $8)
		ON CONFLICT DO NOTHING`,
		r.ID, r.Seat, r.Customer, r.Amount.Minor(), r.TraceID, string(text), now, r.CreatedAt.Add(time.Hour).UnixMicro())
	return err
}
