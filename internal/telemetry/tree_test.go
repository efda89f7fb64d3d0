package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestTree(t *testing.T) {
	at := func(ms float64) time.Time { return time.Unix(0, int64(ms*1e6)) }
	spans := []Span{
		{ID: "4", ParentID: "2", Name: "publish tickets.events SeatReserved", Service: "seats", Start: at(12), End: at(13.25)},
		{ID: "1", Name: "POST /bookings", Service: "booking", Start: at(0), End: at(5)},
		{ID: "3", ParentID: "1", Name: "late", Service: "payments", Start: at(20), End: at(1020), Error: "no money"},
		{ID: "2", ParentID: "1", Name: "process seats.BookingCreated", Service: "seats", Start: at(10), End: at(30)},
		{ID: "5", ParentID: "gone", Name: "orphan", Service: "x", Start: at(7), End: at(7)},
		{ID: "6", ParentID: "7", Name: "circle", Start: at(8), End: at(8)},
		{ID: "7", ParentID: "6", Name: "circle2", Start: at(9), End: at(8)},
		{ID: "8", ParentID: "8", Name: "self", Start: at(9), End: at(9)},
	}
	want := `
POST /bookings                             booking   +0.00 ms   5.0 ms
├─ process seats.BookingCreated            seats       +10 ms    20 ms
│  └─ publish tickets.events SeatReserved  seats       +12 ms   1.2 ms
└─ late                                    payments    +20 ms  1000 ms  ✗ no money
orphan                                     x          +7.0 ms  0.00 ms
self                                                  +9.0 ms  0.00 ms
circle                                                +8.0 ms  0.00 ms
└─ circle2                                            +9.0 ms  0.00 ms
`
	if got := Tree(spans); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Tree(nil); got != "" {
		t.Errorf("nothing is drawn as %q", got)
	}
}

// A stranger's trace neither fills the memory nor commands the terminal.
func TestTreeOfAStranger(t *testing.T) {
	var spans []Span
	service, long := strings.Repeat("s", 1000), strings.Repeat("e\r\n", 100_000)
	for i := range 20_000 { // one below the other
		spans = append(spans, Span{
			ID: fmt.Sprint(i + 1), ParentID: fmt.Sprint(i), Name: "a\x1b[2J\nb", Service: service,
			Error: long, Start: time.Unix(int64(i), 0), End: time.Unix(int64(i)+1, 0),
		})
	}
	text := Tree(spans)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if n := len(lines); n != 1001 || lines[1000] != "… and 19000 more spans" {
		t.Errorf("%d lines, the last one %q", n, lines[n-1])
	}
	if len(text) > 2<<20 || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
		t.Errorf("%d bytes: %.2000q", len(text), text)
	}
}
