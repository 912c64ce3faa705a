// Package toolcache keeps other people's programs that tests install, in the user's
// cache: each once for all that decides what it is, such as its lock file.
//
// A directory is filled in its place, because what installers write names the place;
// it counts from the moment in which it is marked as complete. Other processes wait
// meanwhile, and what an interrupted one left is thrown away.
package toolcache

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Dir returns the directory that fill made of the key, and has it filled unless it is
// there. Nothing but the key may decide what fill makes.
func Dir(name string, key []byte, fill func(dir string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache: %w", err)
	}
	sum := sha256.Sum256(key)
	dir := filepath.Join(cache, "yudai", fmt.Sprintf("%s-%x", name, sum[:8]))
	l, err := lock(dir + ".lock")
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", dir, err)
	}
	defer l.Close()
	complete := filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return dir, nil
	}
	err = errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
	if err == nil {
		err = fill(dir)
	}
	if err == nil {
		err = os.WriteFile(complete, nil, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("install %s: %w", name, err)
	}
	return dir, nil
}

// lock waits for the lock. It ends when the file is closed, or with the process.
func lock(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
