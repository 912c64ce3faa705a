package local

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxDepth is how deep a tree is walked. Real trees stay below 60; hostile ones
// use depth to exhaust descriptors.
const maxDepth = 256

// errDeep says that a tree is deeper than maxDepth.
var errDeep = errors.New("directories nested deeper than 256")

// entry is what a walk sees of one file: never its content, never through a
// symbolic link.
type entry struct {
	path string
	stat unix.Stat_t
}

// walk visits everything below dir. It opens each directory relative to its
// parent and without following links, so that a tree which changes under it,
// or was made to confuse it, cannot lead it elsewhere. What disappears meanwhile
// is skipped.
func walk(dir string, visit func(entry)) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	return walkFD(fd, "", 0, visit)
}

// walkFD visits below an open directory, which it closes.
func walkFD(fd int, at string, depth int, visit func(entry)) error {
	d := os.NewFile(uintptr(fd), at)
	defer func() { _ = d.Close() }()
	if depth > maxDepth {
		return errDeep
	}
	names, err := d.Readdirnames(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read directory: %w", err)
	}
	for _, name := range names {
		e := entry{path: at + "/" + name}
		if err := unix.Fstatat(fd, name, &e.stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			if errors.Is(err, unix.ENOENT) {
				continue
			}
			return fmt.Errorf("stat: %w", err)
		}
		visit(e)
		if e.stat.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue
		}
		sub, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			continue
		}
		if err != nil {
			return fmt.Errorf("open directory: %w", err)
		}
		if err := walkFD(sub, e.path, depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// treeUsage returns the bytes of disk below dir. Every entry counts at least
// 512, so that a million empty files are not free; a file with several names
// counts once.
func treeUsage(dir string) (int64, error) {
	var total int64
	type inode struct{ dev, ino uint64 }
	linked := make(map[inode]bool)
	err := walk(dir, func(e entry) {
		total += 512
		if e.stat.Nlink > 1 && e.stat.Mode&unix.S_IFMT == unix.S_IFREG {
			key := inode{uint64(e.stat.Dev), e.stat.Ino} //nolint:unconvert // Dev is narrower on other architectures
			if linked[key] {
				return
			}
			linked[key] = true
		}
		total += e.stat.Blocks * 512
	})
	return total, err
}

// treeStamp returns a value that changes when any file below dir is created,
// changed or removed. The change time moves with every write, so it alone would
// nearly do; the rest protects against clocks of low resolution.
func treeStamp(dir string) (string, error) {
	sum := sha256.New()
	count := 0
	err := walk(dir, func(e entry) {
		count++
		stampEntry(sum, e)
	})
	if errors.Is(err, errDeep) {
		// Too deep to look at: say "may have changed" each time.
		return fmt.Sprintf("deep-%d", time.Now().UnixNano()), nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d-%s", count, hex.EncodeToString(sum.Sum(nil)[:16])), nil
}

// stampEntry adds one entry; the quoted path keeps hostile names apart. The
// order of entries is the directory's own: it may differ without a change of
// content only when the directory was changed.
func stampEntry(sum hash.Hash, e entry) {
	st := e.stat
	fmt.Fprintf(sum, "%q %o %d %d.%d %d.%d %d\n", e.path, st.Mode, st.Size,
		st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec, st.Ino)
}

// copyTree copies a base where overlays are refused: regular files (sharing
// blocks where the file system can), directories, links and pipes with their
// modes and times. Sockets and devices are left out.
func copyTree(from, to string) error {
	c := copier{links: make(map[uint64]string)}
	if err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return c.copy(path, to+strings.TrimPrefix(path, from), d)
	}); err != nil {
		return fmt.Errorf("copy base: %w", err)
	}
	for i := len(c.dirs) - 1; i >= 0; i-- { // after their contents, which change the times
		if err := c.dirs[i].apply(); err != nil {
			return fmt.Errorf("copy base: %w", err)
		}
	}
	return nil
}

// copier remembers what needs a second step.
type copier struct {
	links map[uint64]string // inode → first copy, for files with several names
	dirs  []copied
}

// copied is a copy whose mode and times are set.
type copied struct {
	path string
	stat unix.Stat_t
}

func (c copied) apply() error {
	if c.stat.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := unix.Chmod(c.path, c.stat.Mode&0o7777); err != nil {
			return fmt.Errorf("set mode: %w", err)
		}
	}
	times := []unix.Timespec{c.stat.Atim, c.stat.Mtim}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, c.path, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("set times: %w", err)
	}
	return nil
}

// copy copies one entry.
func (c *copier) copy(from, to string, d fs.DirEntry) error {
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	done := copied{path: to, stat: st}
	switch d.Type() {
	case fs.ModeDir:
		if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		c.dirs = append(c.dirs, done)
		return nil
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		if err := os.Symlink(target, to); err != nil {
			return err
		}
		return done.apply()
	case fs.ModeNamedPipe:
		if err := unix.Mkfifo(to, st.Mode&0o7777); err != nil {
			return err
		}
		return done.apply()
	case 0:
		if first, ok := c.links[st.Ino]; ok {
			return os.Link(first, to)
		}
		if st.Nlink > 1 {
			c.links[st.Ino] = to
		}
		if err := copyFile(from, to); err != nil {
			return err
		}
		return done.apply()
	}
	return nil
}

// copyFile copies content, by sharing blocks if the file system can.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) != nil {
		if _, err := out.ReadFrom(in); err != nil {
			_ = out.Close()
			return err
		}
	}
	return out.Close()
}
