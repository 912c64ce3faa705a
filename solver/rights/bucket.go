package rights

import "time"

// rate is how many there may be at once, and how many more in an hour.
type rate struct{ burst, perHour float64 }

// bucket is a token bucket.
type bucket struct {
	rate
	left float64
	at   time.Time // when left was right
}

// has says whether one may be taken.
func (b *bucket) has(now time.Time) bool {
	if gone := now.Sub(b.at); gone > 0 {
		b.left = min(b.burst, b.left+gone.Hours()*b.perHour)
		b.at = now
	}
	return b.left >= 1
}

// take takes one, if there is one.
func (b *bucket) take(now time.Time) bool {
	if !b.has(now) {
		return false
	}
	b.left--
	return true
}
