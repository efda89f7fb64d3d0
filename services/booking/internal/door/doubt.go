package door

import (
	"github.com/google/uuid"

	"boxoffice/services/booking/internal/row"
)

// Doubt keeps the place of a booking whose row may be written or not, until
// Commit or GiveBack says which.
func (d *Door) Doubt(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.active[id]
	if s == nil {
		s = d.waits(id)
	}
	if s != nil {
		d.doubts[id] = s
	}
}

// DoubtsKey reports whether a booking with this key is among the doubtful ones.
func (d *Door) DoubtsKey(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.doubts {
		if s.Key == key {
			return true
		}
	}
	return false
}

// Doubtful returns the bookings of which nobody knows whether their rows are written.
func (d *Door) Doubtful() []row.Order {
	d.mu.Lock()
	defer d.mu.Unlock()
	orders := make([]row.Order, 0, len(d.doubts))
	for _, s := range d.doubts {
		orders = append(orders, s.Order)
	}
	return orders
}
