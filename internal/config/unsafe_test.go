package config_test

import (
	"strings"
	"testing"

	"boxoffice/internal/config"
	"boxoffice/internal/lab"
)

func TestUnsafe(t *testing.T) {
	for _, u := range lab.Unsafes() {
		c, err := run(t, with(map[string]string{"UNSAFE": string(u), "LAB": "on"}), "booking")
		if err != nil || c.Booking.Unsafe != u || c.Booking.CheckUnsafe(false) != nil {
			t.Errorf("%s: %v %+v", u, err, c.Booking.Service)
		}
	}
	_, err := run(t, with(map[string]string{"UNSAFE": "no-ack"}), "booking")
	if err == nil || !strings.Contains(err.Error(), `UNSAFE="no-ack" is not known; use no-confirm, `) {
		t.Errorf("a wrong one: %v", err)
	}
	off, on := config.Lab(false), config.Lab(true)
	for _, c := range []struct {
		lab       *config.Lab
		byDefault bool
		refused   bool
	}{{nil, false, true}, {nil, true, false}, {&off, true, true}, {&on, false, false}} {
		s := config.Service{Unsafe: lab.AckFirst, Lab: c.lab}
		if err := s.CheckUnsafe(c.byDefault); (err != nil) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
		if err := (config.Service{Lab: c.lab}).CheckUnsafe(c.byDefault); err != nil {
			t.Errorf("%+v without: %v", c, err)
		}
	}
}
