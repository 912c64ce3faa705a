package stream_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/internal/stream"
	"github.com/yudai-dev/yudai/internal/watch"
)

// TestFollow: a frame after each change but not more often than every tenth of a second, a beat where nothing happens.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var changed watch.Watchers
		changes, n, answer := changed.Watch(ctx), 0, httptest.NewRecorder()
		began, told := time.Now(), []time.Duration{}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			stream.Events(answer).Follow(ctx, changes, nil, func() (string, error) {
				told = append(told, time.Since(began))
				if n++; n == 2 {
					return "", nil
				}
				return "frame\n", nil
			})
		}()
		wait := func(d time.Duration) { <-time.After(d); synctest.Wait() }
		for range 3 { // the second call comes after the pause, for all of them
			changed.Signal()
			wait(10 * time.Millisecond)
		}
		wait(970 * time.Millisecond)
		changed.Signal()
		wait(30 * time.Second)
		stop()
		<-ended
		if want := "retry: 1000\n\nframe\nframe\n: still here\n\nframe\n: still here\n\nframe\n"; answer.Body.String() != want || !answer.Flushed {
			t.Errorf("%q, want %q; told at %v", answer.Body, want, told)
		}
		ms := time.Millisecond
		if want := []time.Duration{0, 100 * ms, 1000 * ms, 15_000 * ms, 30_000 * ms}; !slices.Equal(told, want) {
			t.Errorf("told at %v, want %v", told, want)
		}
	})
}

// TestEnds: with what ends it, and what was told last is sent.
func TestEnds(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	stopped := make(chan struct{})
	close(stopped)
	for name, c := range map[string]struct {
		ctx     context.Context
		stopped chan struct{}
		changes chan struct{}
		err     error
	}{
		"its reader went": {ctx: gone}, "the server stops": {ctx: t.Context(), stopped: stopped},
		"nobody tells of changes": {ctx: t.Context(), changes: stopped},
		"all is said":             {ctx: t.Context(), err: stream.ErrEnd}, "it failed": {ctx: t.Context(), err: errors.New("broken")},
	} {
		answer := httptest.NewRecorder()
		stream.Open(answer, "text/plain", "", "").Follow(c.ctx, c.changes, c.stopped, func() (string, error) { return "last", c.err })
		if answer.Body.String() != "last" || answer.Header().Get("Content-Type") != "text/plain" {
			t.Errorf("%s: %q", name, answer.Body)
		}
	}
}
