package cloud

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/yudai-dev/yudai/internal/clock"
)

// Backoff says how often something is repeated, and after which pauses.
type Backoff struct {
	First, Most time.Duration // the pauses double from the first to the longest, and vary by a quarter
	Total       time.Duration // no pause ends later than this after the beginning; 0 is no bound
	Tries       int           // of all tries together; 0 is no bound
}

// pause is the nth pause, from 0; what an answer asks for counts where it is longer.
func (b Backoff) pause(n int, err error) time.Duration {
	d := b.First
	for ; n > 0 && d < b.Most; n-- {
		d *= 2
	}
	d = min(d, b.Most)
	d += rand.N(d/4 + 1)
	var r *Refusal
	if errors.As(err, &r) && r.After > 0 {
		return max(r.After, b.First)
	}
	return d
}

// Retry does something until it succeeds. which tells how an error is waited for; nil
// is not at all.
func Retry(ctx context.Context, do func() error, which func(error) *Backoff) error {
	began, tried := time.Now(), map[*Backoff]int{}
	for {
		err := do()
		if err == nil || ctx.Err() != nil {
			return err
		}
		b := which(err)
		if b == nil {
			return err
		}
		d := b.pause(tried[b], err)
		tried[b]++
		if b.Tries > 0 && tried[b] >= b.Tries || b.Total > 0 && time.Since(began)+d > b.Total || clock.Sleep(ctx, d) != nil {
			return err
		}
	}
}
