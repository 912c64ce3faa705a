package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/solve"
)

// segment is the part of a transcript that one owner wrote: a file of its own,
// so that a former owner that still writes cannot touch it. Only the bytes that a
// commit vouched for count.
type segment struct {
	id      solve.ID
	n       int
	attempt int
	token   uint64
}

func attemptKey(id solve.ID, n, attempt int) key { return runKey(id, n).small(attempt) }

func (g segment) key() key { return attemptKey(g.id, g.n, g.attempt).num(g.token) }

func (g segment) path(dir string) string {
	return filepath.Join(dir, "transcripts", string(g.id), strconv.Itoa(g.n),
		fmt.Sprintf("%d-%d.jsonl", g.attempt, g.token))
}

// Step stores a step: first the lines, durably, then the progress that counts
// them. What is written but not committed is written over by the next step.
func (s *Store) Step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, p solve.Progress) error {
	err := s.step(ctx, id, n, token, lines, p)
	if err != nil {
		return fmt.Errorf("store step of run %d of solve %s: %w", n, id, err)
	}
	return nil
}

func (s *Store) step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, p solve.Progress) error {
	at := s.cfg.Now()
	if token == 0 {
		return fmt.Errorf("no token: %w", solve.ErrLeaseLost)
	}
	g := segment{id: id, n: n, token: token}
	defer s.steps.lock(string(runKey(id, n).num(token)))()
	old, err := read(ctx, s, func(t *tx) (uint64, error) {
		r, err := t.ownRun(id, n, token, at)
		g.attempt = r.Attempt
		return num(t.get(segments, g.key())), err
	})
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		failpoint.Hit("store", "transcript", "before")
		if err := appendDurably(g.path(s.dir), int64(old), lines); err != nil {
			return err
		}
		failpoint.Hit("store", "transcript", "after")
	}
	return s.update(ctx, "step", func(t *tx) error {
		r, err := t.ownRun(id, n, token, at)
		if err != nil {
			return err
		}
		r.Progress = p
		if len(lines) > 0 {
			t.put(segments, g.key(), key(nil).num(old+uint64(len(lines))))
		}
		return t.putRun(r)
	})
}

// ownRun returns the run if the token is its living owner's.
func (t *tx) ownRun(id solve.ID, n int, token uint64, at time.Time) (solve.Run, error) {
	r, err := t.oneRun(id, n)
	if err != nil {
		return r, err
	}
	return r, solve.Fence(r.Lease, trusted(token), reader{t, at}.Alive)
}

// appendDurably writes data at an offset, cuts the file behind it, and syncs.
func appendDurably(path string, offset int64, data []byte) (err error) {
	if err := durable.MakeDirs(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// A file that ends where it should is left alone: every change of its
	// attributes is one more thing for the file system to make durable.
	if st, err := f.Stat(); err != nil || st.Size() != offset {
		if err := errors.Join(err, f.Truncate(offset)); err != nil {
			return err
		}
	}
	if _, err := f.WriteAt(data, offset); err != nil {
		return err
	}
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	if offset == 0 {
		return durable.Sync(filepath.Dir(path))
	}
	return nil
}

// Transcript returns the committed bytes of the run's present attempt, owner after owner.
func (s *Store) Transcript(ctx context.Context, id solve.ID, n int) ([]byte, error) {
	type part struct {
		path string
		size uint64
	}
	parts, err := read(ctx, s, func(t *tx) (parts []part, err error) {
		r, err := t.oneRun(id, n)
		if err != nil {
			return nil, err
		}
		prefix := attemptKey(id, n, r.Attempt)
		for k, size := range t.scan(segments, prefix) {
			parts = append(parts, part{segment{id, n, r.Attempt, num(k[len(prefix):])}.path(s.dir), num(size)})
		}
		return parts, nil
	})
	var out []byte
	for _, p := range parts {
		data, failed := os.ReadFile(p.path)
		if errors.Is(failed, os.ErrNotExist) {
			failed = solve.ErrNotFound // pruned
		}
		if failed == nil && uint64(len(data)) < p.size {
			failed = fmt.Errorf("%s has %d bytes, the store counts %d", filepath.Base(p.path), len(data), p.size)
		}
		if err = errors.Join(err, failed); err == nil {
			out = append(out, data[:p.size]...)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read transcript of run %d of solve %s: %w", n, id, err)
	}
	return out, nil
}

// namedLocks lets one caller at a time into what a name stands for.
type namedLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when it is free
}

// lock returns the function that unlocks. It waits at a channel: a mutex would stop the
// clock of tests in simulated time.
func (l *namedLocks) lock(name string) func() {
	mine := make(chan struct{})
	for {
		l.mu.Lock()
		other, taken := l.held[name]
		if !taken {
			l.held[name] = mine
		}
		l.mu.Unlock()
		if !taken {
			break
		}
		<-other
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, name)
		close(mine)
	}
}
