package bolt

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	berrors "go.etcd.io/bbolt/errors"

	"github.com/yudai-dev/yudai/internal/durable"
)

// errDamaged says that a file is no store, or no longer one.
var errDamaged = errors.New("the file is damaged, or no store of yudai")

// checkFile refuses what bbolt would take for a new store, or not name.
func checkFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return errors.New("it is not a file")
	case info.Size() == 0 && hasFiles(filepath.Dir(path)):
		// A crash of the very first start leaves an empty file too, but nothing beside it.
		return fmt.Errorf("it is empty, but there are transcripts or artifacts beside it: %w", errDamaged)
	default:
		return nil
	}
}

// hasFiles says whether a store worked in this directory before.
func hasFiles(dir string) bool {
	for _, sub := range []string{"transcripts", "artifacts"} {
		if _, err := os.Stat(filepath.Join(dir, sub)); err == nil {
			return true
		}
	}
	return false
}

// openError says why a store cannot be opened, and what to do about it.
func openError(path string, err error) error {
	const elsewhere = "or let store.path name another file"
	advice := "mend that, " + elsewhere
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("open store: another yudai uses %s%s: stop it, %s: %w", path, lockedBy(path), elsewhere, err)
	case errors.Is(err, errDamaged):
		advice = "restore a backup, " + elsewhere
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		err, advice = fmt.Errorf("%w: %w", errDamaged, err), "restore a backup, "+elsewhere
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		advice = fmt.Sprintf("let user %d write there, %s", os.Getuid(), elsewhere)
	case durable.NoRoom(err):
		advice = "make room, " + elsewhere
	}
	return fmt.Errorf("open store %s: %w: %s", path, err, advice)
}

// lockedBy names the process that holds the file's lock, if the kernel says so.
func lockedBy(path string) string {
	var st unix.Stat_t
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return ""
	}
	defer func() { _ = locks.Close() }()
	if err := unix.Stat(path, &st); err != nil {
		return ""
	}
	inode := ":" + strconv.FormatUint(st.Ino, 10)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		// 1: FLOCK  ADVISORY  WRITE 4711 fd:00:123456 0 EOF
		f := strings.Fields(lines.Text())
		if len(f) < 6 || f[1] != "FLOCK" || !strings.HasSuffix(f[5], inode) {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
			return fmt.Sprintf(" (process %d)", pid)
		}
	}
	return ""
}
