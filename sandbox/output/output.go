// Package output hands what a command prints to whoever wants to read it, and
// never lets the command wait for the reader: a writer that blocks for longer
// than its patience, or fails, gets nothing more. Memory is bounded by a queue.
package output

import (
	"io"
	"sync/atomic"
	"time"
)

// WriteTimeout is how long a writer may block before its output is dropped.
const WriteTimeout = 2 * time.Second

// Budget is what all feeds of a command may pass on together.
type Budget struct {
	left      atomic.Int64
	truncated atomic.Bool
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int64) *Budget {
	b := &Budget{}
	b.left.Store(bytes)
	return b
}

// Truncated reports whether anything was not passed on.
func (b *Budget) Truncated() bool { return b.truncated.Load() }

// take returns how much of n may still be passed on.
func (b *Budget) take(n int) int {
	for {
		left := b.left.Load()
		give := min(int64(n), left)
		if b.left.CompareAndSwap(left, left-give) {
			if give < int64(n) {
				b.truncated.Store(true)
			}
			return int(give)
		}
	}
}

// queueSize bounds what waits for a writer, in chunks.
const queueSize = 32

// Feed is one stream on its way to one writer. Write and End are called from one goroutine.
type Feed struct {
	w        io.Writer
	budget   *Budget
	patience time.Duration
	queue    chan []byte
	written  chan struct{} // the writer has everything it will get
	dropping atomic.Bool
	beats    atomic.Int64 // counts finished writes
}

// New starts a feed to w; nil discards without counting against the budget.
func New(w io.Writer, b *Budget, patience time.Duration) *Feed {
	f := &Feed{w: w, budget: b, patience: patience, queue: make(chan []byte, queueSize), written: make(chan struct{})}
	go f.push()
	return f
}

// Write passes a copy of p on, as far as the budget goes. It always takes all of p.
func (f *Feed) Write(p []byte) (int, error) {
	if f.w != nil && len(p) > 0 {
		if give := f.budget.take(len(p)); give > 0 {
			f.offer(append([]byte(nil), p[:give]...))
		}
	}
	return len(p), nil
}

// End says that nothing follows.
func (f *Feed) End() { close(f.queue) }

// offer queues a chunk, or gives the writer up.
func (f *Feed) offer(chunk []byte) {
	if f.dropping.Load() {
		f.budget.truncated.Store(true)
		return
	}
	select {
	case f.queue <- chunk:
		return
	default:
	}
	late := time.NewTimer(f.patience)
	defer late.Stop()
	for {
		seen := f.beats.Load()
		select {
		case f.queue <- chunk:
			return
		case <-late.C:
			if f.beats.Load() == seen {
				f.drop()
				return
			}
			late.Reset(f.patience)
		}
	}
}

func (f *Feed) drop() {
	f.dropping.Store(true)
	f.budget.truncated.Store(true)
}

// push writes what was queued; after an error or once given up it only drains.
func (f *Feed) push() {
	defer close(f.written)
	for chunk := range f.queue {
		if f.dropping.Load() {
			f.budget.truncated.Store(true)
			continue
		}
		if _, err := f.w.Write(chunk); err != nil {
			f.drop()
		}
		f.beats.Add(1)
	}
}

// Wait returns when the writer has everything, or has blocked for longer than
// its patience. It is called after End.
func (f *Feed) Wait() {
	for {
		seen := f.beats.Load()
		wait := f.patience
		if f.dropping.Load() { // given up already: only let a Write that returns now return
			wait = min(wait, 50*time.Millisecond)
		}
		late := time.NewTimer(wait)
		select {
		case <-f.written:
			late.Stop()
			return
		case <-late.C:
		}
		if f.beats.Load() == seen {
			f.drop()
			return
		}
	}
}

// Same reports whether both are one writer; values that cannot be compared are two.
func Same(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a != nil && a == b
}
