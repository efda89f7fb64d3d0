package client

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestRetry is as long as anybody may send us away: what is said beyond is
// a mistake, or no use to who waits.
const longestRetry = time.Hour

// retryAfter is when to try again, as the Retry-After of an answer says it; 0,
// if it does not. It is a number of seconds, which some send with decimals, or
// a date. A date is by the clock of who sent it, and is compared to its Date, if
// there is one, and else to now.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if date, err := http.ParseTime(text); err == nil {
		if sent, err := http.ParseTime(h.Get("Date")); err == nil {
			now = sent
		}
		return min(max(0, date.Sub(now)), longestRetry)
	}
	if text == "" || strings.Trim(text, "0123456789.") != "" { // ParseFloat reads much more
		return 0
	}
	seconds, err := strconv.ParseFloat(text, 64)
	switch {
	case seconds >= longestRetry.Seconds(): // with an error too, beyond what a float64 holds
		return longestRetry
	case err != nil:
		return 0
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}
