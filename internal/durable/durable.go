// Package durable makes files that survive a power cut as a whole or not at all.
package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Unfinished is the pattern of files that are being written. Those that a crash left may be removed.
const Unfinished = ".yudai-*.tmp"

// Write makes or replaces a file, readable by its owner only, so that after a crash
// either the old or the whole new content is there. Its name is durable when Write returns.
func Write(path string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), Unfinished) // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// WriteFile is [Write] for content in memory.
func WriteFile(path string, data []byte) error {
	return Write(path, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// Sync makes the names in a directory durable.
func Sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

// Clean removes what a crash left half written in a directory.
func Clean(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, Unfinished))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// MakeDirs makes a directory and those above it, mode 0700, durable by name.
func MakeDirs(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := MakeDirs(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return fmt.Errorf("make directory: %w", err)
	}
	return Sync(parent)
}

// NoRoom says that the disk, or the user's share of it, is full: nobody's fault here, and it ends.
func NoRoom(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
