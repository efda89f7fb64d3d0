package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/client"
)

// All outcomes are found by walks through the list, a few a second, which begin at the
// oldest booking that has none, and saga times are the service's own.
func TestOneWalkFindsAllOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{saga: func(n int) (time.Duration, string) {
			return 33 * time.Millisecond, []string{"Confirmed", "Rejected", "Cancelled"}[n%3]
		}}
		res := New(config(Open), s).Run(t.Context())
		if res.Outcomes != (Outcomes{Confirmed: 100, Rejected: 100, Cancelled: 100}) || !near(res.Saga.P50, 33*time.Millisecond) || res.Saga.Max != 33 {
			t.Errorf("%+v", res)
		}
		if res.Goodput != (Goodput{99.2, 33.1}) { // 297 in 2.995 s, of which 99
			t.Errorf("%+v", res.Goodput)
		}
		if walks := 31; s.looks > walks*6 { // 13 bookings at most, 3 a page
			t.Errorf("%d pages were read", s.looks)
		}
	})
}

type listing struct {
	*service
	fails int
}

func (l *listing) Bookings(ctx context.Context, status, after string, limit int) (client.Page, error) {
	if l.fails--; l.fails >= 0 {
		return client.Page{}, errors.New("away")
	}
	return l.service.Bookings(ctx, status, after, limit)
}

func TestAFailedWalkIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(Open)
		cfg.Count = 5
		if res := New(cfg, &listing{&service{}, 7}).Run(t.Context()); res.Outcomes.Confirmed != 5 {
			t.Errorf("%+v", res)
		}
	})
}

func TestBefore(t *testing.T) {
	for id, want := range map[string]string{
		"0190a000-0000-7000-8000-000000000001": "0190a000-0000-7000-8000-000000000000",
		"0190a000-0000-7000-8001-000000000000": "0190a000-0000-7000-8000-ffffffffffff",
		"b1":                                   "",
	} {
		if got := before(id); got != want {
			t.Errorf("before %s is %q", id, got)
		}
	}
}
