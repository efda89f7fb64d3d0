package load

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQuantiles(t *testing.T) {
	var h histogram
	if h.quantile(0.5) != 0 {
		t.Error("of nothing")
	}
	var all []time.Duration
	for range 10_000 {
		d := time.Duration(rand.Int64N(int64(time.Microsecond) << rand.IntN(34)))
		all = append(all, d)
		h.add(d)
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.01, 0.5, 0.95, 0.99, 1} {
		exact := all[max(0, int(q*10_000)-1)]
		if got := h.quantile(q); got < exact || got > exact+exact/sub+time.Microsecond {
			t.Errorf("quantile %v is %s, not %s", q, got, exact)
		}
	}
	if h.max != all[9_999] {
		t.Errorf("max %s", h.max)
	}
}

func TestBucketsHaveNoGaps(t *testing.T) {
	var h histogram
	for i := range len(h.buckets) - 1 {
		if bucket(top(i)-1) != i || bucket(top(i)) != i+1 && top(i) < longest {
			t.Fatalf("bucket %d ends at %s", i, top(i))
		}
	}
	h.add(-time.Second)
	h.add(1000 * time.Hour)
	if h.quantile(1) < longest {
		t.Errorf("the longest is %s", h.quantile(1))
	}
}

func TestSeatsAreDrawnOnce(t *testing.T) {
	for _, total := range []int{1, 2, 6, 7, 100, 1000} {
		s := newSeats(total, Unique)
		seen := make(map[int]bool)
		for range total {
			seat, ok := s.draw()
			if !ok || seat < 1 || seat > total || seen[seat] {
				t.Fatalf("of %d: seat %d, %v", total, seat, ok)
			}
			seen[seat] = true
		}
		if seat, ok := s.draw(); ok {
			t.Errorf("of %d: seat %d again", total, seat)
		}
		s.giveBack(1)
		if seat, ok := s.draw(); !ok || seat != 1 {
			t.Errorf("of %d: %d after it was given back", total, seat)
		}
	}
}

func TestChoices(t *testing.T) {
	const draws = 10_000
	for choice, want := range map[Choice]float64{Random: 0.2, Hot: 0.8 + 0.2*0.2} {
		s, first := newSeats(100, choice), 0
		for range draws {
			seat, ok := s.draw()
			if !ok || seat < 1 || seat > 100 {
				t.Fatalf("%s: %d %v", choice, seat, ok)
			}
			s.giveBack(seat)
			if seat <= 20 {
				first++
			}
		}
		if share := float64(first) / draws; share < want-0.03 || share > want+0.03 {
			t.Errorf("%s: %.2f of the seats are of the first fifth", choice, share)
		}
	}
	if seat, _ := newSeats(1, Hot).draw(); seat != 1 {
		t.Errorf("seat %d of 1", seat)
	}
}

func result() Result {
	return Result{
		Mode: Open, Seconds: 30, Offered: 24_000, NotSent: 3, Retries: 2, NoAnswer: 1, Failure: "http://h cannot be reached: EOF",
		Answers:  []Answer{{202, Latency{2700, 1.234, 12.34, 123.4, 12_345.6}}, {429, Latency{21_298, 0.5, 1, 2, 3}}},
		Outcomes: Outcomes{2690, 10, 0, 0}, Saga: Latency{2700, 3800, 4000, 4100, 4200}, Goodput: Goodput{80.1, 79.8},
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := result().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	const want = `
                         count      p50      p95      p99      max
                offered  24000
               not sent      3
            tried again      2
           202 Accepted   2700  1.23 ms  12.3 ms   123 ms   12.3 s
  429 Too Many Requests  21298  0.50 ms  1.00 ms  2.00 ms  3.00 ms
              no answer      1
  acceptance to outcome   2700  3800 ms  4000 ms  4100 ms  4200 ms
              Confirmed   2690
               Rejected     10
              Cancelled      0
             unfinished      0

goodput  80.1 bookings/s finished in the 30.0 s that load was offered, 79.8/s of them Confirmed
the first without an answer: http://h cannot be reached: EOF
`
	if "\n"+b.String() != want {
		t.Errorf("%s", b.String())
	}
}

func TestJSON(t *testing.T) {
	text, err := json.Marshal(result())
	const want = `{"mode":"open","seconds":30,"offered":24000,"notSent":3,"retries":2,"answers":[{"status":202,"count":2700,"p50Ms":1.234,"p95Ms":12.34,"p99Ms":123.4,"maxMs":12345.6},`
	if err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("%s %v", text, err)
	}
}
