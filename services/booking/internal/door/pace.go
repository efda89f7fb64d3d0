package door

import (
	"math"
	"time"
)

const (
	// paceWindow is how long the pace remembers: a saga weighs a third after it.
	paceWindow = 10 * time.Second
	// longPause is more than what passes between two sagas of a door that is worth
	// measuring. A longer pause is an outage, of which a second counts, so that
	// what an outage leaves behind does not pass for what the door can do.
	longPause = time.Second
)

// pace measures how many sagas finish per second while all active places are
// taken: what comes in then does not matter.
type pace struct {
	finished, seconds float64 // the recent ones weigh most
	paused            bool    // the last saga ended a long pause
}

// add notes that a saga has finished, so long after the one before.
func (p *pace) add(after time.Duration) {
	p.paused = after > longPause
	after = max(0, min(after, longPause))
	fade := math.Exp(-after.Seconds() / paceWindow.Seconds())
	p.finished = p.finished*fade + 1
	p.seconds = p.seconds*fade + after.Seconds()
}

// perSecond returns the pace, or 0 if it is not known.
func (p *pace) perSecond() float64 {
	if p.seconds == 0 {
		return 0
	}
	return p.finished / p.seconds
}
