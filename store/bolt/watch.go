package bolt

import (
	"context"
	"sync"
)

// watchers are told that something was committed. A watcher that is slow gets
// one signal for many commits; a writer never waits for one.
type watchers struct {
	mu   sync.Mutex
	list map[chan struct{}]struct{}
}

func (w *watchers) signal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.list {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// Watch returns a channel that gets a value after committed changes.
func (s *Store) Watch(ctx context.Context) <-chan struct{} {
	w := &s.watchers
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	if w.list == nil {
		w.list = map[chan struct{}]struct{}{}
	}
	w.list[ch] = struct{}{}
	w.mu.Unlock()
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.list, ch)
		close(ch)
	})
	return ch
}
