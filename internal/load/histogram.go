package load

import (
	"math"
	"math/bits"
	"time"
)

const (
	// subBits gives each power of two so many buckets that a quantile is at
	// most 1/64 too high.
	subBits = 6
	sub     = 1 << subBits
	// longest is above what is measured exactly enough: 38 hours.
	longest = time.Duration(1<<37) * time.Microsecond
)

// histogram counts durations in buckets whose width grows with the duration.
type histogram struct {
	buckets [(37-subBits+1)*sub + 1]int // the last is for what is longer than the longest
	count   int
	max     time.Duration
}

func bucket(d time.Duration) int {
	us := max(0, min(d, longest)).Microseconds()
	if us < sub {
		return int(us)
	}
	shift := 63 - bits.LeadingZeros64(uint64(us)) - subBits // the top bit and subBits below it are kept
	return shift*sub + int(us>>shift)
}

// top is the longest duration of a bucket.
func top(bucket int) time.Duration {
	if bucket < sub {
		return time.Duration(bucket+1) * time.Microsecond
	}
	shift := bucket/sub - 1
	return time.Duration((bucket%sub+sub+1)<<shift) * time.Microsecond
}

func (h *histogram) add(d time.Duration) {
	h.buckets[bucket(d)]++
	h.count++
	h.max = max(h.max, d)
}

// quantile is a duration that the share q of all did not exceed.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int(math.Ceil(q * float64(h.count)))
	for i := range h.buckets {
		if rank -= h.buckets[i]; rank <= 0 {
			return min(top(i), h.max)
		}
	}
	return h.max
}
