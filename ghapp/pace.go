package ghapp

import (
	"sync"
	"time"
)

// class is how much a request weighs in the pacing.
type class int

const (
	// classFirst: results, pull requests, first answers.
	classFirst class = iota
	// classProgress: edits that show how a solve goes; they leave a reserve for the others.
	classProgress
	// classObject: git objects nobody is told of; only spaced.
	classObject
)

// pace bounds the writes of one installation: a least distance between two, and
// a token bucket. Its size and refill together never exceed per_hour in any hour.
type pace struct {
	interval time.Duration
	size     float64
	perSec   float64

	mu     sync.Mutex
	tokens float64
	at     time.Time // when tokens was right
	last   time.Time // of any write
}

func newPace(interval time.Duration, perHour int, now time.Time) *pace {
	size := max(1, float64(perHour)/10)
	return &pace{
		interval: interval,
		size:     size,
		perSec:   (float64(perHour) - size) / time.Hour.Seconds(),
		tokens:   size,
		at:       now,
	}
}

// ready is the earliest time at which a write of the class may be made.
func (p *pace) ready(now time.Time, c class) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fill(now)
	if c == classObject {
		return later(now, p.last.Add(p.interval/4))
	}
	at := later(now, p.last.Add(p.interval))
	need := 1.0
	if c == classProgress {
		need = min(need+p.size/4, p.size) // a small bucket has no room for a reserve
	}
	if short := need - p.tokens; short > 0 {
		wait := time.Duration(short / p.perSec * float64(time.Second))
		at = later(at, now.Add(wait+time.Millisecond)) // the fraction that rounding takes
	}
	return at
}

// take counts a write.
func (p *pace) take(now time.Time, c class) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fill(now)
	p.last = now
	if c != classObject {
		p.tokens--
	}
}

func (p *pace) fill(now time.Time) {
	if gone := now.Sub(p.at); gone > 0 {
		p.tokens = min(p.size, p.tokens+gone.Seconds()*p.perSec)
		p.at = now
	}
}
