// Package tickets is the contract of the saga: its six events, who publishes and
// who consumes them, and amounts of money. Adding an event is a type here, its
// name in the routes of [System], and its golden file.
package tickets

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// BookingCreated says that a booking was accepted; seats consumes it.
type BookingCreated struct {
	BookingID uuid.UUID `json:"bookingId"`
	Seat      int       `json:"seat"`
	Customer  string    `json:"customer"`
	Amount    Amount    `json:"amount"`
}

// SeatReserved says that the seat is held for the booking; payments consumes it.
type SeatReserved struct {
	BookingID uuid.UUID `json:"bookingId"`
	Seat      int       `json:"seat"`
	Amount    Amount    `json:"amount"`
}

// SeatRejected says that the seat cannot be had; booking consumes it.
type SeatRejected struct {
	BookingID uuid.UUID `json:"bookingId"`
	Seat      int       `json:"seat"`
	Reason    string    `json:"reason"`
}

// PaymentSucceeded says that the amount was charged; booking consumes it.
type PaymentSucceeded struct {
	BookingID uuid.UUID `json:"bookingId"`
}

// PaymentFailed says that nothing was charged; booking and seats consume it.
type PaymentFailed struct {
	BookingID uuid.UUID `json:"bookingId"`
	Seat      int       `json:"seat"`
	Reason    string    `json:"reason"`
}

// SeatReleased says that the booking no longer holds the seat; booking consumes it.
type SeatReleased struct {
	BookingID uuid.UUID `json:"bookingId"`
	Seat      int       `json:"seat"`
	Reason    string    `json:"reason"`
}

// Key returns the booking's id.
func (e BookingCreated) Key() string { return e.BookingID.String() }

// Key returns the booking's id.
func (e SeatReserved) Key() string { return e.BookingID.String() }

// Key returns the booking's id.
func (e SeatRejected) Key() string { return e.BookingID.String() }

// Key returns the booking's id.
func (e PaymentSucceeded) Key() string { return e.BookingID.String() }

// Key returns the booking's id.
func (e PaymentFailed) Key() string { return e.BookingID.String() }

// Key returns the booking's id.
func (e SeatReleased) Key() string { return e.BookingID.String() }

// Validate says what is missing or out of range.
func (e BookingCreated) Validate() error {
	return errors.Join(needID(e.BookingID), needSeat(e.Seat), needText("customer", e.Customer), needAmount(e.Amount))
}

// Validate says what is missing or out of range.
func (e SeatReserved) Validate() error {
	return errors.Join(needID(e.BookingID), needSeat(e.Seat), needAmount(e.Amount))
}

// Validate says what is missing or out of range.
func (e SeatRejected) Validate() error { return needAll(e.BookingID, e.Seat, e.Reason) }

// Validate says what is missing or out of range.
func (e PaymentSucceeded) Validate() error { return needID(e.BookingID) }

// Validate says what is missing or out of range.
func (e PaymentFailed) Validate() error { return needAll(e.BookingID, e.Seat, e.Reason) }

// Validate says what is missing or out of range.
func (e SeatReleased) Validate() error { return needAll(e.BookingID, e.Seat, e.Reason) }

func needAll(id uuid.UUID, seat int, reason string) error {
	return errors.Join(needID(id), needSeat(seat), needText("reason", reason))
}

// MaxText is how long a text of an event may be, in bytes. What is made of it
// again, however JSON escapes it, is an event too.
const MaxText = 4096

// needText wants a text that every database can store. (What is no UTF-8, and
// half a surrogate pair, becomes U+FFFD when JSON is read.)
func needText(field, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("%s is missing", field)
	case len(text) > MaxText:
		return fmt.Errorf("%s is longer than %d bytes", field, MaxText)
	case strings.ContainsRune(text, 0):
		return fmt.Errorf("%s contains a NUL character", field)
	case !utf8.ValidString(text):
		return fmt.Errorf("%s is not valid UTF-8", field)
	}
	return nil
}

func needID(id uuid.UUID) error {
	if id == uuid.Nil {
		return errors.New("bookingId is missing")
	}
	return nil
}

// MaxSeat is the highest seat number that any hall may have.
const MaxSeat = 1_000_000

func needSeat(seat int) error {
	if seat < 1 || seat > MaxSeat {
		return fmt.Errorf("seat is missing or not from 1 to %d: %d", MaxSeat, seat)
	}
	return nil
}

func needAmount(a Amount) error {
	if !a.IsPositive() {
		return fmt.Errorf("amount is missing or not above 0: %s", a)
	}
	return nil
}

// LogAttrs returns the seat, for the log.
func (e BookingCreated) LogAttrs() []slog.Attr { return seatAttrs(e.Seat) }

// LogAttrs returns the seat, for the log.
func (e SeatReserved) LogAttrs() []slog.Attr { return seatAttrs(e.Seat) }

// LogAttrs returns the seat, for the log.
func (e SeatRejected) LogAttrs() []slog.Attr { return seatAttrs(e.Seat) }

// LogAttrs returns the seat, for the log.
func (e PaymentFailed) LogAttrs() []slog.Attr { return seatAttrs(e.Seat) }

// LogAttrs returns the seat, for the log.
func (e SeatReleased) LogAttrs() []slog.Attr { return seatAttrs(e.Seat) }

func seatAttrs(seat int) []slog.Attr { return []slog.Attr{slog.Int("seat", seat)} }
