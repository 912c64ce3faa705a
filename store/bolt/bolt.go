// Package bolt is the embedded store engine: one bbolt file, with transcripts
// and artifacts as files beside it. It keeps every promise of package storetest.
//
// All writes pass one combining writer: callers that write at the same time
// share a transaction and its fsync, and one that fails does not touch the
// others. What follows from an event is up to the rules of package solve: an
// operation loads what they ask for and stores what they return (records, events,
// effects) with its indexes, in one transaction. Indexes are plain buckets,
// so that no cost grows with the number of finished solves or queued runs.
//
// The file is locked by the process that has it open. A node therefore cannot
// outlive the process that opened the file: Open ends the leases and claims of
// all nodes it finds, and each boot needs a node name of its own.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/yudai-dev/yudai/internal/watch"

	"github.com/yudai-dev/yudai/internal/durable"
)

const (
	lockTimeout = time.Second
	// initialMap is mapped at the start, so that a growing file does not stop readers for a remap.
	initialMap = 256 << 20
)

// Store is the engine. Make one with [Open].
type Store struct {
	cfg Config
	dir string // of transcripts and artifacts
	db  *bbolt.DB

	writer   writer
	watchers watch.Watchers
	steps    namedLocks // one writer at a time per transcript

	closing  sync.Once
	closeErr error
}

// Open opens or creates the store. The directory is created with mode 0700 and
// the file with 0600. It fails after a second if another process has the file
// open, and if the file was written by a newer yudai.
func Open(cfg Config) (*Store, error) {
	return open(cfg, migrations())
}

func open(cfg Config, steps []migration) (_ *Store, err error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Path == "" {
		return nil, errors.New("open store: store.path is empty")
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	cfg.Path = path
	if err := durable.MakeDirs(filepath.Dir(path)); err != nil {
		return nil, openError(path, err)
	}
	db, err := openFile(path)
	if err != nil {
		return nil, err
	}
	s := newStore(cfg, db)
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if err := migrate(db, path, steps); err != nil {
		return nil, err
	}
	if err := durable.Clean(s.dir); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	if s.db, err = compact(db, path); err != nil {
		return nil, err
	}
	if err := s.endLeases(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	if err := s.wakeRestored(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return s, nil
}

func newStore(cfg Config, db *bbolt.DB) *Store {
	return &Store{
		cfg: cfg, dir: filepath.Dir(cfg.Path), db: db,
		writer: writer{turn: make(chan struct{}, 1)}, steps: namedLocks{held: map[string]chan struct{}{}},
	}
}

// openFile opens the database and makes its name durable.
func openFile(path string) (db *bbolt.DB, err error) {
	if err := checkFile(path); err != nil {
		return nil, openError(path, err)
	}
	// bbolt panics on some damaged files.
	broken := guard(func() error {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout:         lockTimeout,
			FreelistType:    bbolt.FreelistMapType,
			InitialMmapSize: initialMap,
		})
		return nil
	})
	if broken != nil {
		return nil, openError(path, fmt.Errorf("%w: %w", errDamaged, broken))
	}
	if err != nil {
		return nil, openError(path, err)
	}
	if err := errors.Join(checkSize(db), durable.Sync(filepath.Dir(path))); err != nil {
		_ = db.Close()
		return nil, openError(path, err)
	}
	return db, nil
}

// checkSize refuses a file that was cut: its missing pages would be noticed only when they are read.
func checkSize(db *bbolt.DB) error {
	info, err := os.Stat(db.Path())
	if err != nil {
		return err
	}
	return db.View(func(b *bbolt.Tx) error {
		if info.Size() < b.Size() {
			return fmt.Errorf("it has %d bytes and should have %d: %w", info.Size(), b.Size(), errDamaged)
		}
		return nil
	})
}

// compactAt is the number of free bytes above which a file that is more than
// half free is rewritten at the start: bbolt never shrinks a file.
const compactAt = 256 << 20

// compact rewrites the file if most of it is free, and returns the database to use.
func compact(db *bbolt.DB, path string) (*bbolt.DB, error) {
	free, size := int64(db.Stats().FreePageN)*int64(db.Info().PageSize), int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	if free < compactAt || free < size/2 {
		return db, nil
	}
	return rewrite(db, path)
}

// rewrite copies the live pages into a new file and puts it in place.
func rewrite(db *bbolt.DB, path string) (*bbolt.DB, error) {
	err := durable.Write(path, func(f *os.File) error {
		dst, err := bbolt.Open(f.Name(), 0o600, &bbolt.Options{Timeout: lockTimeout})
		if err != nil {
			return err
		}
		const txBytes = 16 << 20
		if err := bbolt.Compact(dst, db, txBytes); err != nil {
			_ = dst.Close()
			return err
		}
		return dst.Close()
	})
	if err != nil {
		return db, fmt.Errorf("compact store: %w", err)
	}
	if err := db.Close(); err != nil {
		return db, fmt.Errorf("compact store %s: %w", path, err)
	}
	return openFile(path)
}

// Bytes is the size of the database's file.
func (s *Store) Bytes(context.Context) (int64, error) {
	info, err := os.Stat(s.cfg.Path)
	if err != nil {
		return 0, fmt.Errorf("look at the store's file: %w", err)
	}
	return info.Size(), nil
}

// Close waits for writes under way and releases the file. Safe to call twice.
func (s *Store) Close() error {
	s.closing.Do(func() {
		if s.db == nil {
			return
		}
		if err := s.db.Close(); err != nil {
			s.closeErr = fmt.Errorf("close store %s: %w", s.cfg.Path, err)
		}
	})
	return s.closeErr
}

// Watch returns a channel that gets a value after committed changes.
func (s *Store) Watch(ctx context.Context) <-chan struct{} { return s.watchers.Watch(ctx) }
