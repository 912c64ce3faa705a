package solver

import (
	"context"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// Holds are the waits of a solve whose step fails with the error each time.
func Holds(ctx context.Context, s solve.Solve, err error, world bool, attempts int) (out []time.Duration) {
	if world {
		err = fault.Outside{Err: err}
	}
	var failed tries
	for {
		wait, again := failed.after(ctx, s, err, attempts)
		if !again {
			return out
		}
		out = append(out, wait)
		<-time.After(wait)
	}
}
