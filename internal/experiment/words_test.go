package experiment

import (
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		short(1499 * time.Microsecond):                                       "1 ms",
		short(999 * time.Millisecond):                                        "999 ms",
		short(6205 * time.Millisecond):                                       "6.2 s",
		short(12126 * time.Millisecond):                                      "12 s",
		times(0) + ", " + times(1) + ", " + times(2) + ", " + times(3):       "never, once, twice, 3 times",
		counts(map[string]int{"Rejected": 49, "Confirmed": 1}):               "1 Confirmed, 49 Rejected",
		inOrder([]time.Duration{time.Second, 5 * time.Second}):               "1s, then 5s",
		"all" + but(true, "not %d", 5) + ", or all" + but(false, "%d", 4):    "all, or all (4)",
		and([]int{1}) + "; " + and([]int{1, 2}) + "; " + and([]int{1, 2, 4}): "1; 1 and 2; 1, 2 and 4",
		Answer{Status: 202}.String():                                         "it got 202",
		Answer{Status: 429, RetryAfter: 3 * time.Second}.String():            "it got 429, and may come again in 3s",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"redelivery", "poison", "door", "drain", "bank-outage", "broker-outage"}
	for text, want := range map[string]string{
		"redelivry": "redelivery", "poisson": "poison", "doors": "door", "brain": "drain", "broker_outage": "broker-outage",
		"nonsense": "", "": "", "x": "",
	} {
		if got := nearest(text, names); got != want {
			t.Errorf("%q is taken for %q, want %q", text, got, want)
		}
	}
}
