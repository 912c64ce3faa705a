package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rs/xid"

	"github.com/yudai-dev/yudai/server"
)

// workspace is the directory of one `yudai solve`, `yudai demo` or `yudai replay`. While the
// process lives it holds everything; afterwards what people read of a solve:
// the record, the log, transcripts, patches and test output.
type workspace struct {
	path string
	lock *os.File // of the directory: says to others that its process lives
	cfg  server.Config
}

// Kinds of workspaces, the beginnings of their names.
const (
	kindSolve  = "solve-"
	kindDemo   = "demo-"
	kindReplay = "replay-"
)

// cleanTime bounds the removal of sandboxes, also after a signal.
const cleanTime = 30 * time.Second

// passing is what a workspace needs only while its process lives.
var passing = [...]string{"github", "sandboxes", "store/git", "store/yudai.db"}

// openWorkspace makes one below the state directory: sandboxes must not lie in
// a temporary file system that is memory. What killed processes left behind is
// removed, and all of a workspace that is older than store.keep_logs.
func openWorkspace(ctx context.Context, kind string, cfg server.Config) (*workspace, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home := os.Getenv("HOME")
		if home == "" {
			return nil, errors.New("no state directory: set HOME or XDG_STATE_HOME")
		}
		base = filepath.Join(home, ".local", "state")
	}
	base = filepath.Join(base, "yudai")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory (set XDG_STATE_HOME to have it elsewhere): %w", err)
	}
	if err := sweep(ctx, base, cfg); err != nil {
		return nil, fmt.Errorf("clean the state directory %s: %w", base, err)
	}
	w := &workspace{path: filepath.Join(base, kind+xid.New().String()), cfg: cfg}
	if err := os.Mkdir(w.path, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory (set XDG_STATE_HOME to have it elsewhere): %w", err)
	}
	var err error
	if w.lock, err = locked(w.path); err != nil {
		return nil, fmt.Errorf("lock %s: %w", w.path, err)
	}
	return w, nil
}

// close leaves what people read, or nothing. No sandbox survives it.
func (w *workspace) close(ctx context.Context, keep bool) error {
	defer w.lock.Close()
	return clean(ctx, w.path, w.cfg, keep)
}

// sweep cleans the workspaces of dead processes and removes the old ones.
func sweep(ctx context.Context, base string, cfg server.Config) error {
	found, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	before := time.Now().Add(-cfg.Store.KeepLogs)
	var all []error
	for _, entry := range found {
		isSolve := strings.HasPrefix(entry.Name(), kindSolve)
		if !isSolve && !strings.HasPrefix(entry.Name(), kindDemo) && !strings.HasPrefix(entry.Name(), kindReplay) {
			continue
		}
		dir := filepath.Join(base, entry.Name())
		info, err := os.Stat(dir)
		if err != nil {
			continue // another process removes it at this moment
		}
		lock, err := locked(dir)
		if err != nil {
			continue // its process lives
		}
		all = append(all, clean(ctx, dir, cfg, isSolve && info.ModTime().After(before)))
		lock.Close()
	}
	return errors.Join(all...)
}

// clean ends and removes the sandboxes, then what else is passing, or all of it.
func clean(ctx context.Context, dir string, cfg server.Config, keep bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	if err := cfg.RemoveSandboxes(ctx, filepath.Join(dir, "sandboxes")); err != nil {
		return err
	}
	if !keep {
		return removeAll(dir)
	}
	var all []error
	for _, name := range passing {
		all = append(all, removeAll(filepath.Join(dir, name)))
	}
	return errors.Join(all...)
}

// locked opens a directory and takes its lock, which ends with the process.
func locked(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeAll removes directories without the right to write, too: package
// managers make such in their caches.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700) //nolint:gosec // about to be removed
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// checkWritable says why a file cannot be made or changed, and leaves no trace.
func checkWritable(path string) error {
	_, err := os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = f.Close()
	if isNew {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
