// Package clock waits without outliving a context.
package clock

import (
	"context"
	"time"
)

// Sleep waits for a time. It returns the context's cause if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
