package bolt

import (
	"context"
	"sync"
	"time"

	bbolt "go.etcd.io/bbolt"
)

// OpenWith opens a store as a binary with more or other layouts would.
func OpenWith(cfg Config, steps ...func(*bbolt.Tx) error) (*Store, error) {
	all := migrations()
	for _, s := range steps {
		all = append(all, s)
	}
	return open(cfg, all)
}

// DB is the file itself.
func (s *Store) DB() *bbolt.DB { return s.db }

// Compact rewrites the file as Open does with one that is mostly free.
func (s *Store) Compact() (err error) {
	s.db, err = rewrite(s.db, s.cfg.Path)
	return err
}

// Ops returns how many reads, writes and steps over keys a write takes.
func (s *Store) Ops(write func() error) (int, error) {
	before := s.writer.ops.Load()
	err := write()
	return int(s.writer.ops.Load() - before), err
}

// Together runs writes as one batch would, in one transaction.
func (s *Store) Together(fns ...func(put func(k, v string)) error) []error {
	var batch []*job
	for _, fn := range fns {
		batch = append(batch, &job{fn: func(t *tx) error {
			return fn(func(k, v string) { t.put(asks, []byte(k), []byte(v)) })
		}})
	}
	s.commit(batch)
	var errs []error
	for _, j := range batch {
		errs = append(errs, j.err)
	}
	return errs
}

// Gathered runs writes as callers that come while another one commits: one batch has all of them.
func (s *Store) Gathered(writes ...func() error) []error {
	full := make(chan struct{})
	w := &s.writer
	w.turn <- struct{}{}
	w.mu.Lock()
	w.full, w.want = full, len(writes)
	w.mu.Unlock()
	var group sync.WaitGroup
	errs := make([]error, len(writes))
	for i, write := range writes {
		group.Go(func() { errs[i] = write() })
	}
	<-full
	<-w.turn
	group.Wait()
	return errs
}

// PutDelivery stores a delivery's row as it is given.
func (s *Store) PutDelivery(t interface{ Fatal(...any) }, guid, row string) {
	err := s.update(context.Background(), "accept", func(x *tx) error {
		at := key(nil).time(time.Unix(1, 0))
		x.put(deliveries, guidKey(guid), at)
		x.put(payloads, append(at, guidKey(guid)...), []byte(row))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
