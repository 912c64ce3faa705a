package watch_test

import (
	"context"
	"testing"

	"github.com/yudai-dev/yudai/internal/watch"
)

// TestManySignalsAreOne: a watcher that does not look holds nobody up, and is told once. It is closed with its context.
func TestManySignalsAreOne(t *testing.T) {
	t.Parallel()
	var w watch.Watchers
	w.Signal()
	ctx, stop := context.WithCancel(t.Context())
	ch := w.Watch(ctx)
	for range 3 {
		w.Signal()
	}
	<-ch
	select {
	case <-ch:
		t.Error("told twice")
	default:
	}
	stop()
	if _, open := <-ch; open {
		t.Error("told of the end as of a change")
	}
	w.Signal()
}
