// Package watch tells those who wait that something changed.
package watch

import (
	"context"
	"sync"
)

// Watchers are told of changes. A watcher that is slow gets one signal for many
// changes; who signals never waits for one. The zero value is ready.
type Watchers struct {
	mu   sync.Mutex
	list map[chan struct{}]struct{}
}

// Signal tells all watchers that something changed.
func (w *Watchers) Signal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.list {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// Watch returns a channel that gets a value after changes. It is closed when ctx ends.
func (w *Watchers) Watch(ctx context.Context) <-chan struct{} {
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
