package client

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		after, date string
		want        time.Duration
	}{
		{"", "", 0},
		{"0", "", 0},
		{"3", "", 3 * time.Second},
		{"4.7", "", 4700 * time.Millisecond},
		{"0.25", "", 250 * time.Millisecond},
		{"3600", "", time.Hour},
		{"86400", "", time.Hour},
		{strings.Repeat("9", 400), "", time.Hour},
		{"99999999999999999999", "", time.Hour},
		{"-5", "", 0},
		{"+5", "", 0},
		{"1e3", "", 0},
		{"0x10", "", 0},
		{"NaN", "", 0},
		{"Inf", "", 0},
		{"1.2.3", "", 0},
		{".", "", 0},
		{"soon", "", 0},
		{"5, 10", "", 0},
		{"Sun, 01 Mar 2026 12:00:07 GMT", "", 7 * time.Second},
		{"Sunday, 01-Mar-26 12:00:07 GMT", "", 7 * time.Second},
		{"Sun Mar  1 12:00:07 2026", "", 7 * time.Second},
		{"Sun, 01 Mar 2026 11:59:00 GMT", "", 0},
		{"Tue, 01 Mar 2050 12:00:00 GMT", "", time.Hour},
		// The sender's clock is five minutes ahead of ours, or behind.
		{"Sun, 01 Mar 2026 12:05:07 GMT", "Sun, 01 Mar 2026 12:05:00 GMT", 7 * time.Second},
		{"Sun, 01 Mar 2026 11:55:07 GMT", "Sun, 01 Mar 2026 11:55:00 GMT", 7 * time.Second},
		{"Sun, 01 Mar 2026 12:00:07 GMT", "nonsense", 7 * time.Second},
		{"Sun, 01 Mar 2026 12:00:07 CET", "", 0},
	} {
		h := http.Header{}
		h.Set("Retry-After", test.after)
		h.Set("Date", test.date)
		if got := retryAfter(h, now); got != test.want {
			t.Errorf("Retry-After %q, Date %q: %s, want %s", test.after, test.date, got, test.want)
		}
	}
}
