package sweagent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// tempPrefix begins the name of a run's directory.
	tempPrefix = "yudai-swe-agent-"
	// tempAge is how old a directory must be to be nobody's: its maker locks it at once.
	tempAge = time.Minute
)

// makeTempDir makes a run's directory for files of the program, for this user only. Its lock
// says that we live. drop removes it.
func makeTempDir() (dir string, drop func(), err error) {
	sweep(os.TempDir())
	if dir, err = os.MkdirTemp("", tempPrefix); err != nil {
		return "", nil, fmt.Errorf("make directory: %w", err)
	}
	held, err := lock(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, func() {
		_ = os.RemoveAll(dir) // what stays is in the temporary directory, and swept later
		_ = held.Close()
	}, nil
}

// lock takes the lock of a directory, unless somebody has it.
func lock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock directory %s: %w", dir, err)
	}
	return f, nil
}

// sweep removes the directories of processes that were killed.
func sweep(root string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return // then nothing can be made there either, and that is told
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !strings.HasPrefix(e.Name(), tempPrefix) || time.Since(info.ModTime()) < tempAge {
			continue
		}
		dir := filepath.Join(root, e.Name())
		held, err := lock(dir)
		if err != nil {
			continue // its owner lives, or it is another user's
		}
		_ = os.RemoveAll(dir) // tried again by the next run
		_ = held.Close()
	}
}
