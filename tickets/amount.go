package tickets

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/govalues/decimal"
)

// Amount is an exact amount of money with at most two decimals. It is a JSON
// number on the wire (450, 450.5) and whole minor units in a database. Equal
// amounts are equal under ==. The zero value is 0.
type Amount struct{ d decimal.Decimal }

// maxWhole keeps the minor units of every amount within an int64.
const maxWhole = 1_000_000_000_000

// ErrAmount is the error, wrapped, of text that is no amount.
var ErrAmount = errors.New("an amount must be a number with at most two decimals")

// ParseAmount reads a decimal number such as 450, 450.5 or 4.5e2.
func ParseAmount(s string) (Amount, error) {
	if len(s) > 20 { // more digits than the library keeps would be rounded
		return Amount{}, ErrAmount
	}
	d, err := decimal.Parse(s)
	if err != nil {
		return Amount{}, ErrAmount // the library's text names digits and scales, which says little to a client
	}
	d = d.Trim(0)
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	if d.Scale() > 2 || d.IsZero() && strings.ContainsAny(mantissa, "123456789") { // 1e-30 was rounded to 0
		return Amount{}, ErrAmount
	}
	if whole, _, ok := d.Int64(2); !ok || whole > maxWhole || whole < -maxWhole {
		return Amount{}, ErrAmount
	}
	return Amount{d}, nil
}

// MustAmount is ParseAmount for constants: it panics on bad input.
func MustAmount(s string) Amount {
	a, err := ParseAmount(s)
	if err != nil {
		panic(fmt.Sprintf("amount %q: %v", s, err))
	}
	return a
}

// AmountFromMinor is the amount of so many minor units (cents).
func AmountFromMinor(minor int64) Amount {
	return Amount{decimal.MustNew(minor, 2).Trim(0)}
}

// Minor is the amount in minor units (cents), as the databases store it.
func (a Amount) Minor() int64 {
	whole, frac, _ := a.d.Int64(2) // ParseAmount and AmountFromMinor admit nothing that does not fit
	return whole*100 + frac
}

// IsPositive reports whether a is above 0.
func (a Amount) IsPositive() bool { return a.d.IsPos() }

// Cmp compares two amounts: -1, 0 or 1.
func (a Amount) Cmp(b Amount) int { return a.d.Cmp(b.d) }

func (a Amount) String() string { return a.d.String() }

// MarshalJSON writes the amount as a JSON number.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.d.String()), nil }

// UnmarshalJSON reads a JSON number, and nothing else: no string, no null.
func (a *Amount) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '-' && (b[0] < '0' || b[0] > '9') {
		return ErrAmount
	}
	parsed, err := ParseAmount(string(b))
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

// UnmarshalText reads an amount from a flag or an environment variable.
func (a *Amount) UnmarshalText(b []byte) error {
	parsed, err := ParseAmount(string(b))
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

var _ json.Unmarshaler = (*Amount)(nil)
