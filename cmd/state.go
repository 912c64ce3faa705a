package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rs/xid"
)

// workspace is the directory of one `yudai solve`. While the process lives it
// holds everything; afterwards what people read: the record, the log,
// transcripts, patches and test output.
type workspace struct {
	path string
	lock *os.File // of the directory: says to others that its process lives
}

// passing is what a workspace needs only while its process lives.
var passing = [...]string{"github", "sandboxes", "store/git", "store/yudai.db"}

// openWorkspace makes one below the state directory: sandboxes must not lie in
// a temporary file system that is memory. What killed processes left behind is
// removed, and all of a workspace that is older than keep.
func openWorkspace(getenv func(string) string, now time.Time, keep time.Duration) (*workspace, error) {
	base := getenv("XDG_STATE_HOME")
	if base == "" {
		home := getenv("HOME")
		if home == "" {
			return nil, errors.New("no state directory: set HOME or XDG_STATE_HOME")
		}
		base = filepath.Join(home, ".local", "state")
	}
	base = filepath.Join(base, "yudai")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory (set XDG_STATE_HOME to have it elsewhere): %w", err)
	}
	if err := sweep(base, now.Add(-keep)); err != nil {
		return nil, fmt.Errorf("clean the state directory %s: %w", base, err)
	}
	w := &workspace{path: filepath.Join(base, "solve-"+xid.New().String())}
	if err := os.Mkdir(w.path, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory (set XDG_STATE_HOME to have it elsewhere): %w", err)
	}
	var err error
	if w.lock, err = locked(w.path); err != nil {
		return nil, fmt.Errorf("lock %s: %w", w.path, err)
	}
	return w, nil
}

// close leaves what people read, or nothing.
func (w *workspace) close(keep bool) error {
	defer w.lock.Close()
	if !keep {
		return removeAll(w.path)
	}
	return trim(w.path)
}

// sweep trims the workspaces of dead processes and removes those from before.
func sweep(base string, before time.Time) error {
	found, err := filepath.Glob(filepath.Join(base, "solve-*"))
	if err != nil {
		return err
	}
	var all []error
	for _, dir := range found {
		info, err := os.Stat(dir)
		if err != nil {
			continue // another process removes it at this moment
		}
		lock, err := locked(dir)
		if err != nil {
			continue // its process lives
		}
		if info.ModTime().Before(before) {
			err = removeAll(dir)
		} else {
			err = trim(dir)
		}
		all = append(all, err)
		lock.Close()
	}
	return errors.Join(all...)
}

func trim(dir string) error {
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

// writable says whether a file can be made or changed, and leaves no trace.
func writable(path string) error {
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

// stopped is the end of a command that a signal ended.
func stopped(left string) error {
	return exitError{exitStopped, errors.New("stopped: " + strings.TrimSpace(left))}
}
