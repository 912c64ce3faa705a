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
	// scratchPrefix begins the name of a run's directory.
	scratchPrefix = "yudai-swe-agent-"
	// scratchAge is how old a directory must be to be nobody's: its maker locks it at once.
	scratchAge = time.Minute
)

// scratch makes a run's directory for files of the program, for this user only. Its lock
// says that we live. drop removes it.
func scratch() (dir string, drop func(), err error) {
	sweep(os.TempDir())
	if dir, err = os.MkdirTemp("", scratchPrefix); err != nil {
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
		if err != nil || !e.IsDir() || !strings.HasPrefix(e.Name(), scratchPrefix) || time.Since(info.ModTime()) < scratchAge {
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
