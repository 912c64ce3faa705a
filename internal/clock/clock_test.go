package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/internal/clock"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := clock.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("slept %s: %v", time.Since(began), err)
		}
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		if err := clock.Sleep(ctx, time.Hour); !errors.Is(err, stop) || time.Since(began) != time.Minute+time.Second {
			t.Errorf("ended after %s: %v", time.Since(began), err)
		}
	})
}
