// Package memory is a store engine of plain maps under one lock. It keeps every
// promise of package storetest but durability: what it holds ends with it.
//
// It is the reference that other engines are compared with, so it is written to
// be read: no index, no cache, no batch. Every question is answered by looking
// at all records, and every write works on a copy that replaces the data when it
// succeeded. It shares no code with another engine but the rules of package solve.
package memory

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errClosed = errors.New("the store is closed")

// Store is the engine. Make one with [New].
type Store struct {
	now func() time.Time // the clock where a method has no time of its own

	mu       sync.Mutex
	data     *data
	closed   bool
	watchers map[chan struct{}]struct{}
}

// New returns an empty store; now is its clock, nil is time.Now.
func New(now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{now: now, data: newData(), watchers: map[chan struct{}]struct{}{}}
}

// Close ends the store. Safe to call twice.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// update runs fn on a copy of the data. If fn fails nothing of it is kept.
func (s *Store) update(ctx context.Context, fn func(*data) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	next := s.data.copy()
	if err := fn(next); err != nil {
		return err
	}
	if next.changed {
		next.changed = false
		s.data = next
		s.signal()
	}
	return nil
}

// view runs fn on the data, which it must not change.
func (s *Store) view(ctx context.Context, fn func(*data) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	return fn(s.data)
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return errClosed
	}
	return ctx.Err()
}

// at is the time of a change: the caller's, else the clock's.
func (s *Store) at(t time.Time) time.Time {
	if t.IsZero() {
		return s.now()
	}
	return t
}

// Watch returns a channel that gets a value after committed changes. A slow
// watcher gets one for many; a writer never waits for it.
func (s *Store) Watch(ctx context.Context) <-chan struct{} {
	ch := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[ch] = struct{}{}
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, ch)
		close(ch)
	})
	return ch
}

func (s *Store) signal() {
	for ch := range s.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
