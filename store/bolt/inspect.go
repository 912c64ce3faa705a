package bolt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/yudai-dev/yudai/solve"
)

// Inspect opens a store that no process has open, for reading: nothing is
// migrated, ended or removed, and writes fail. It is for those who judge what a
// process left behind.
func Inspect(path string) (_ *Store, err error) {
	defer func() {
		// bbolt panics on some damaged files.
		if p := recover(); p != nil {
			err = fmt.Errorf("inspect store %s: the file is damaged: %v", path, p)
		}
	}()
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("inspect store: %w", err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout, ReadOnly: true})
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fmt.Errorf("inspect store: a yudai still uses %s: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("inspect store %s: %w", path, err)
	}
	have, err := schemaVersion(db)
	if want := len(migrations()); err == nil && have != want {
		err = fmt.Errorf("inspect store %s: it has layout %d, this yudai reads %d", path, have, want)
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return newStore(Config{Path: path, Now: time.Now}, db), nil
}

// Effects returns every effect, those of asks too, by key.
func (s *Store) Effects(ctx context.Context) ([]solve.Effect, error) { return s.effectsWith(ctx, "") }
