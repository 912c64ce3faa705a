package bolt

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/internal/failpoint"
)

// maxBatch bounds the writes of one transaction, and so the wait for its commit.
const maxBatch = 512

// writer combines writes that come at the same time into one transaction: one of the
// callers commits what all of them wait for. [bbolt.DB.Batch] makes a lone writer wait
// for its delay, too: BenchmarkStep took 5.3 ms with it and 1.6 ms with this.
type writer struct {
	turn chan struct{} // holds one value while a caller commits

	mu      sync.Mutex
	waiting []*job
	full    chan struct{} // closed when as many wait as are wanted; nil if nobody waits for that
	want    int           // callers that wrote or waited at the last commit; 0 if they were few

	ops     atomic.Int64 // what all transactions cost so far, see tx.ops
	commits atomic.Int64
}

// job is one caller's write.
type job struct {
	op   string // the operation's name, for failpoints and, with spaces for its hyphens, before its errors
	fn   func(*tx) error
	err  error
	did  bool // it changed something
	over bool // like done, for who holds the turn
	done chan struct{}
}

// write is [Store.update] for an operation with a result.
func write[T any](ctx context.Context, s *Store, op string, fn func(*tx) (T, error)) (T, error) {
	var out, none T
	err := s.update(ctx, op, func(t *tx) (err error) {
		out, err = fn(t)
		return err
	})
	if err != nil {
		return none, err
	}
	return out, nil
}

// update runs fn in a writing transaction, shared with others, and returns
// after the commit is durable. fn may be called more than once and must only
// change what it is given and what it sets anew on every call. If fn fails
// nothing of it is kept.
func (s *Store) update(ctx context.Context, op string, fn func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{op: op, fn: fn, done: make(chan struct{})}
	s.writer.enqueue(j)
	select {
	case <-j.done:
	case s.writer.turn <- struct{}{}:
		for !j.over {
			s.commitWaiting()
		}
		<-s.writer.turn
	}
	if j.err != nil {
		return fmt.Errorf("%s: %w", strings.ReplaceAll(op, "-", " "), j.err)
	}
	return nil
}

func (w *writer) enqueue(j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, j)
	if w.full != nil && len(w.waiting) >= w.want {
		close(w.full)
		w.full = nil
	}
}

// commitWaiting commits what has gathered.
func (s *Store) commitWaiting() {
	w := &s.writer
	batch := w.gather(s.cfg.BatchDelay)
	s.commit(batch)
	w.mu.Lock()
	w.want = company(batch, w.waiting)
	w.mu.Unlock()
	for _, j := range batch {
		j.over = true
		close(j.done)
	}
}

// crowd is how many callers make it likely that as many come back at once. The
// few runs of a small server do not: between two steps each is busy for longer
// than the wait, and would pay it at every step.
const crowd = 8

// company is how many callers the next commit waits for: those that wrote in this
// one and those that wait already. Who only looked for work has no part in it.
func company(batch, waiting []*job) int {
	n := len(waiting)
	for _, j := range batch {
		if j.did {
			n++
		}
	}
	if n < crowd {
		return 0
	}
	return n
}

// gather takes the writes of the next transaction. When many callers were
// there at the last one, they are likely to come back at once: it waits a moment
// for as many.
func (w *writer) gather(delay time.Duration) []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) < w.want && delay > 0 {
		full := make(chan struct{})
		w.full = full
		w.mu.Unlock()
		select {
		case <-full:
		case <-time.After(delay):
		}
		w.mu.Lock()
		w.full = nil
	}
	n := min(len(w.waiting), maxBatch)
	batch := w.waiting[:n:n]
	w.waiting = append([]*job(nil), w.waiting[n:]...)
	return batch
}

// commit runs the jobs in one transaction. A job that fails before its first
// write is just left out; one that fails later is taken out and the others start again.
// If the disk has no room for all of them, each is committed alone: a heartbeat fits
// where a delivery does not.
func (s *Store) commit(batch []*job) {
	for len(batch) > 0 {
		bad, err := s.attempt(batch)
		switch {
		case bad >= 0:
			batch = append(append([]*job(nil), batch[:bad]...), batch[bad+1:]...)
		case len(batch) > 1 && durable.NoRoom(err):
			for _, j := range batch {
				s.commit([]*job{j})
			}
			return
		default:
			for _, j := range batch {
				j.err = cmp.Or(err, j.err)
			}
			return
		}
	}
}

// attempt returns the index of a job that must be taken out, or -1 and the
// error of the whole transaction.
func (s *Store) attempt(batch []*job) (bad int, err error) {
	b, err := s.db.Begin(true)
	if err != nil {
		return -1, fmt.Errorf("begin transaction: %w", err)
	}
	defer func() { _ = b.Rollback() }()
	dirty := false
	for i, j := range batch {
		t := &tx{b: b}
		j.err = t.run(j.fn)
		j.did = t.dirty
		s.writer.ops.Add(int64(t.ops))
		if j.err != nil && t.dirty {
			return i, nil
		}
		dirty = dirty || t.dirty
	}
	if !dirty {
		return -1, nil
	}
	hit(batch, "before")
	if err := guard(b.Commit); err != nil {
		return -1, fmt.Errorf("commit transaction: %w", err)
	}
	s.writer.commits.Add(1)
	hit(batch, "after")
	s.watchers.Signal()
	return -1, nil
}

// hit marks the failpoints of every write of a transaction.
func hit(batch []*job, when string) {
	for _, j := range batch {
		failpoint.Hit("store", j.op, when)
	}
}

// Commits counts the transactions that this process has made durable.
func (s *Store) Commits() int64 { return s.writer.commits.Load() }

// read runs fn in a reading transaction.
func read[T any](ctx context.Context, s *Store, fn func(*tx) (T, error)) (out T, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	err = s.db.View(func(b *bbolt.Tx) error {
		t := &tx{b: b}
		return t.run(func(t *tx) (err error) {
			out, err = fn(t)
			return err
		})
	})
	return out, err
}

// guard turns a panic, as bbolt raises on a damaged page, into an error; so it
// does with a page that the file no longer has, or the disk cannot read.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("transaction broke: %v", p)
		}
	}()
	return fn()
}
