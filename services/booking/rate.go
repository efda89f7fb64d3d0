package booking

import (
	"math"
	"time"
)

// rate measures how many events happen per second, the recent ones weighing
// most: an event has faded to a third after the window.
type rate struct {
	perSecond float64
	at        time.Time
}

const rateWindow = 10 * time.Second

func newRate() rate { return rate{} }

func (r *rate) add(now time.Time) {
	r.perSecond = r.value(now) + 1/rateWindow.Seconds()
	r.at = now
}

// value is the rate at now; 0 if nothing has happened for long.
func (r *rate) value(now time.Time) float64 {
	if r.at.IsZero() {
		return 0
	}
	return r.perSecond * math.Exp(-now.Sub(r.at).Seconds()/rateWindow.Seconds())
}
