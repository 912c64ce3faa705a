package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox"
)

// lockDir keeps every other process and handle from changing who owns a sandbox, until
// release is called: whoever holds the lock writes the record, and takes the helper over
// or ends it, as one step. It ends with the process. sandbox.ErrGone if there is no
// such sandbox any more.
func lockDir(ctx context.Context, dir string) (release func(), err error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		f, err := tryLock(dir)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, fmt.Errorf("lock sandbox: %w", goneIfMissing(err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another owner of the sandbox: %w", context.Cause(ctx))
		}
	}
}

// tryLock locks the directory of that name, and not one that was renamed meanwhile.
func tryLock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = sameDir(f, dir)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// sameDir returns an error unless the directory still has that name.
func sameDir(f *os.File, dir string) error {
	held, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !os.SameFile(held, named) {
		return fmt.Errorf("%s was replaced: %w", dir, fs.ErrNotExist)
	}
	return nil
}

// goneIfMissing makes of an error about a missing file one about a missing sandbox.
func goneIfMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	}
	return err
}
