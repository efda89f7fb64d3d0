package door

import (
	"math"
	"time"
)

const (
	// The pace forgets what is older than paceWindow, or than so many sagas: one
	// weighs a third after either.
	paceWindow = 10 * time.Second
	paceSagas  = 32
	// established is how many sagas it takes to know the pace.
	established = 8
	// longPause is no pause of a door that is worth measuring, and one that lasts
	// as long as so many sagas is none of any door: it is an outage.
	longPause      = time.Second
	longPauseSagas = 3
)

// pace measures how many sagas finish per second while all active places are
// taken: what comes in then does not matter. Outages are left out.
type pace struct {
	finished, seconds float64 // the recent ones weigh most
	sagas             int     // that were measured
	paused            bool    // the last saga ended an outage
	took              time.Duration
}

// add notes that a saga has finished, so long after the one before, and how long
// it took.
func (p *pace) add(after, took time.Duration) {
	p.learn(max(took, time.Millisecond))
	after = max(after, 0)
	if p.paused = p.sagas >= established && p.isPause(after); p.paused {
		return
	}
	p.sagas++
	fade := math.Exp(-max(after.Seconds()/paceWindow.Seconds(), 1.0/paceSagas))
	p.finished = p.finished*fade + 1
	p.seconds = p.seconds*fade + after.Seconds()
}

// isPause reports whether nothing has finished for longer than this door takes.
func (p *pace) isPause(after time.Duration) bool {
	return after > max(longPause, longPauseSagas*p.took)
}

// learn notes how long a saga took. What took long may have waited for the end
// of an outage, so that this is believed slowly.
func (p *pace) learn(took time.Duration) {
	switch {
	case p.took == 0:
		p.took = took
	case took < p.took:
		p.took -= (p.took - took) / 4
	default:
		p.took += (min(took, 2*p.took) - p.took) / 16
	}
}

// perSecond returns the pace, or 0 if it is not known.
func (p *pace) perSecond() float64 {
	if p.seconds == 0 {
		return 0
	}
	return p.finished / p.seconds
}

// isUncertain reports whether the pace says little, so long after the last saga:
// it is new, or there is an outage.
func (p *pace) isUncertain(after time.Duration) bool {
	return p.sagas < established || p.paused || p.isPause(after)
}
