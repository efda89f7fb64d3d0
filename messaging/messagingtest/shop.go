package messagingtest

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"boxoffice/messaging"
)

// The system of the clauses: a shop whose three services agree on orders. An
// order's item is reserved, then paid; if it cannot be paid, the item is
// returned. PaymentRefused has two consumers.
const (
	Orders  = "orders"
	Stock   = "stock"
	Billing = "billing"
)

// Shop returns the system of the clauses.
func Shop() messaging.System {
	return messaging.System{
		Prefix: "shop", BareQueues: true,
		Services: []messaging.Service{
			{Name: Orders, Routes: messaging.Routes{
				Publishes: []string{"OrderPlaced"},
				Consumes:  []string{"ItemRefused", "PaymentTaken", "PaymentRefused", "ItemReturned"},
			}},
			{Name: Stock, Routes: messaging.Routes{
				Consumes:  []string{"OrderPlaced", "PaymentRefused"},
				Publishes: []string{"ItemReserved", "ItemRefused", "ItemReturned"},
			}},
			{Name: Billing, Routes: messaging.Routes{
				Consumes:  []string{"ItemReserved"},
				Publishes: []string{"PaymentTaken", "PaymentRefused"},
			}},
		},
		Carry: []string{HeaderLane},
	}
}

// HeaderLane is a header that the shop carries.
const HeaderLane = "x-lane"

// Topology returns what the shop needs on the broker with these retry delays.
func Topology(retryDelays []time.Duration) messaging.Topology {
	s := Shop()
	s.RetryDelays = retryDelays
	return s.Topology()
}

// OrderPlaced says that an order was made.
type OrderPlaced struct {
	OrderID uuid.UUID `json:"orderId"`
	Item    int       `json:"item"`
}

// ItemReserved says that an order's item is set aside.
type ItemReserved struct {
	OrderID uuid.UUID `json:"orderId"`
	Item    int       `json:"item"`
}

// PaymentTaken says that an order is paid.
type PaymentTaken struct {
	OrderID uuid.UUID `json:"orderId"`
}

// PaymentRefused says that an order cannot be paid.
type PaymentRefused struct {
	OrderID uuid.UUID `json:"orderId"`
	Item    int       `json:"item"`
	Reason  string    `json:"reason"`
}

// ItemRefused says that an order's item cannot be had.
type ItemRefused ItemReturned

// Key returns the order's id.
func (e ItemRefused) Key() string { return e.OrderID.String() }

// Validate says what is missing.
func (e ItemRefused) Validate() error { return need(e.OrderID, e.Item, e.Reason) }

// ItemReturned says that an order's item is no longer set aside.
type ItemReturned struct {
	OrderID uuid.UUID `json:"orderId"`
	Item    int       `json:"item"`
	Reason  string    `json:"reason"`
}

// Key returns the order's id.
func (e OrderPlaced) Key() string { return e.OrderID.String() }

// Key returns the order's id.
func (e ItemReserved) Key() string { return e.OrderID.String() }

// Key returns the order's id.
func (e PaymentTaken) Key() string { return e.OrderID.String() }

// Key returns the order's id.
func (e PaymentRefused) Key() string { return e.OrderID.String() }

// Key returns the order's id.
func (e ItemReturned) Key() string { return e.OrderID.String() }

// Validate says what is missing.
func (e OrderPlaced) Validate() error { return need(e.OrderID, e.Item, "-") }

// Validate says what is missing.
func (e ItemReserved) Validate() error { return need(e.OrderID, e.Item, "-") }

// Validate says what is missing.
func (e PaymentTaken) Validate() error { return need(e.OrderID, 1, "-") }

// Validate says what is missing.
func (e PaymentRefused) Validate() error { return need(e.OrderID, e.Item, e.Reason) }

// Validate says what is missing.
func (e ItemReturned) Validate() error { return need(e.OrderID, e.Item, e.Reason) }

func need(order uuid.UUID, item int, reason string) error {
	switch {
	case order == uuid.Nil:
		return errors.New("orderId is missing")
	case item < 1:
		return errors.New("item is missing, or below 1")
	case reason == "":
		return errors.New("reason is missing")
	}
	return nil
}
