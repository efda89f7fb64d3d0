package door

import "time"

// unknownPace is when to come back to a door of which nobody knows when it will
// have room.
const unknownPace = 10 * time.Second

// RetryAfter estimates when there will be room for the next client that is
// refused: each is promised the next place that becomes free at the pace of the
// door, so that all of them do not come back at once. It is at least a second,
// and at most the time in which everything that is here now has finished. While
// the pace is uncertain, it is no more than unknownPace.
func (d *Door) RetryAfter() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, perSecond := time.Now(), d.pace.perSecond()
	if perSecond == 0 {
		return unknownPace
	}
	each := time.Duration(float64(time.Second) / perSecond)
	if d.promised.Before(now) {
		d.promised = now
	}
	d.promised = d.promised.Add(each)
	here := len(d.active) + len(d.waiting) + len(d.overdue)
	most := min(time.Minute, time.Duration(here)*each)
	if d.pace.isUncertain(now.Sub(d.lastFinish)) {
		most = min(most, unknownPace)
	}
	if d.promised.Sub(now) > most {
		d.promised = now.Add(most)
	}
	return max(time.Second, d.promised.Sub(now))
}
