package ghapp

import (
	"sync"
	"time"
)

// class is how urgent a write is.
type class int

const (
	// classResult: results, pull requests, first answers.
	classResult class = iota
	// classProgress: edits that show how a solve goes; they leave a reserve for the others.
	classProgress
	// classObject: git objects, which nobody sees.
	classObject
	// classReaction: the sign that yudai noticed somebody, without delay.
	classReaction
	// classDenied: answers to people without rights, and whether a text is renewed: from what nobody else needs.
	classDenied
)

// rateLimiter bounds the writes of one installation by a least time between two and
// by a token bucket, whose size and refill never exceed per_hour in any hour. Every
// request that makes, changes or deletes something takes a token, git objects too:
// GitHub does not say which of them it counts as content.
type rateLimiter struct {
	interval time.Duration
	size     float64
	perSec   float64

	mu     sync.Mutex
	tokens float64
	at     time.Time // when tokens was right
	last   time.Time // of any write
}

func newRateLimiter(interval time.Duration, perHour int, now time.Time) *rateLimiter {
	size := max(1, float64(perHour)/10)
	return &rateLimiter{
		interval: interval,
		size:     size,
		perSec:   (float64(perHour) - size) / time.Hour.Seconds(),
		tokens:   size,
		at:       now,
	}
}

// earliest is the first time at which a write of the class may be made.
func (p *rateLimiter) earliest(now time.Time, c class) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refill(now)
	at := later(now, p.last.Add(p.gap(c)))
	need := min(1+p.reserve(c), p.size) // a small bucket has no room for a reserve
	if short := need - p.tokens; short > 0 {
		wait := time.Duration(short / p.perSec * float64(time.Second))
		at = later(at, now.Add(wait+time.Millisecond)) // the fraction that rounding takes
	}
	return at
}

// reserve is what a write of the class leaves in the bucket for more urgent ones.
func (p *rateLimiter) reserve(c class) float64 {
	switch c {
	case classReaction:
		return 0
	case classProgress:
		return p.size / 2
	case classDenied:
		return p.size * 3 / 4
	default:
		return p.size / 4
	}
}

// gap is the least time between a write of the class and the one before it.
func (p *rateLimiter) gap(c class) time.Duration {
	switch c {
	case classReaction:
		return 0
	case classObject:
		return p.interval / 4
	default:
		return p.interval
	}
}

// count counts a write.
func (p *rateLimiter) count(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refill(now)
	p.last = now
	p.tokens--
}

func (p *rateLimiter) refill(now time.Time) {
	if gone := now.Sub(p.at); gone > 0 {
		p.tokens = min(p.size, p.tokens+gone.Seconds()*p.perSec)
		p.at = now
	}
}

// left is how many writes could be made now.
func (p *rateLimiter) left(now time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refill(now)
	return max(0, p.tokens)
}
