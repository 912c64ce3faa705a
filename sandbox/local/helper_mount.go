package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Names of a helper's sources and directories below private.
const (
	boxName  = "box"  // the sandbox's own directory: data and work
	rootName = "root" // what becomes /workspace and /tmp
	etcName  = "etc"  // small files that we make
)

// upper is the directory that holds what the sandbox itself wrote.
func (p *helperProcess) upper() string { return private + "/" + boxName + "/data" }

// prepare makes every mount of the helper.
func (p *helperProcess) prepare(files []*os.File) error {
	c := p.setup
	// Paths are opened before the private mount hides what lies under it.
	paths := make([]*os.File, len(c.Sources))
	defer func() { closeAll(paths...) }()
	for i, src := range c.Sources {
		if src.FD >= 0 {
			continue
		}
		fd, err := unix.Open(src.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", src.Path, err)
		}
		paths[i] = os.NewFile(uintptr(fd), src.Path)
	}
	if err := unix.Mount("tmpfs", private, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=4m,mode=755"); err != nil {
		return fmt.Errorf("mount the private directory: %w", err)
	}
	for i, src := range c.Sources {
		if err := attach(src, files, paths[i]); err != nil {
			return err
		}
	}
	if err := writeFiles(private+"/"+etcName, c.Files); err != nil {
		return err
	}
	for _, p := range c.Etc {
		if err := showEtc(p); err != nil {
			return err
		}
	}
	if !c.Overlay {
		return bindRoot(p.upper())
	}
	return p.overlay()
}

// attach makes one source reachable as private/<name>.
func attach(src source, files []*os.File, path *os.File) error {
	target := private + "/" + src.Name
	if src.Dir {
		if err := os.Mkdir(target, 0o755); err != nil {
			return fmt.Errorf("make mount point: %w", err)
		}
	} else if err := os.WriteFile(target, nil, 0o644); err != nil {
		return fmt.Errorf("make mount point: %w", err)
	}
	if src.FD < 0 {
		from := fmt.Sprintf("/proc/self/fd/%d", path.Fd())
		if err := unix.Mount(from, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("bind %s: %w", src.Path, err)
		}
		return nil
	}
	if src.FD >= len(files) {
		return fmt.Errorf("attach %s: descriptor missing", src.Name)
	}
	err := unix.MoveMount(int(files[src.FD].Fd()), "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("attach %s: %w", src.Name, err)
	}
	return nil
}

// writeFiles makes small read-only files in a new directory.
func writeFiles(dir string, files map[string]string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o444); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// showEtc adds a part of the host's /etc to ours: small files as copies,
// directories as mounts. Bubblewrap needs a single mount for all of it.
func showEtc(p string) error {
	target := private + "/" + etcName + strings.TrimPrefix(p, "/etc")
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	st, err := os.Stat(p)
	if err != nil {
		return fmt.Errorf("show %s: %w", p, err)
	}
	if !st.IsDir() {
		text, err := os.ReadFile(p)
		if err != nil {
			return nil //nolint:nilerr // what the sandbox's uid may not read is not shown
		}
		return os.WriteFile(target, text, 0o444) //nolint:gosec // public configuration
	}
	if err := os.Mkdir(target, 0o755); err != nil {
		return fmt.Errorf("make mount point: %w", err)
	}
	if err := unix.Mount(p, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s: %w", p, err)
	}
	return nil
}

// bindRoot shows a plain directory as the root of the sandbox's files.
func bindRoot(dir string) error {
	target := private + "/" + rootName
	if err := os.Mkdir(target, 0o755); err != nil {
		return fmt.Errorf("make mount point: %w", err)
	}
	if err := unix.Mount(dir, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind sandbox files: %w", err)
	}
	return nil
}

// overlay mounts the sandbox's directory over its bases.
//
// "volatile" leaves out every sync: without it the last unmount, which happens
// while the last process dies, flushes the whole host file system. The price is
// that files do not survive a power cut, which is why records carry the boot
// they belong to. The kernel marks a volatile work directory as used; the mark
// says "the machine may have crashed in between", which the boot check answers,
// so it is removed before the next mount.
func (p *helperProcess) overlay() error {
	work := private + "/" + boxName + "/work"
	mark := filepath.Join(work, "work", "incompat")
	if err := os.RemoveAll(mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clean work directory: %w", err)
	}
	lower := make([]string, len(p.setup.Lower))
	for i, name := range p.setup.Lower {
		lower[i] = private + "/" + name + "/data"
	}
	target := private + "/" + rootName
	if err := os.Mkdir(target, 0o755); err != nil {
		return fmt.Errorf("make mount point: %w", err)
	}
	opts := "userxattr,lowerdir=" + strings.Join(lower, ":") + ",upperdir=" + p.upper() + ",workdir=" + work
	err := unix.Mount("overlay", target, "overlay", unix.MS_NOSUID|unix.MS_NODEV, opts+",volatile")
	if errors.Is(err, unix.EINVAL) {
		err = unix.Mount("overlay", target, "overlay", unix.MS_NOSUID|unix.MS_NODEV, opts)
	}
	if err != nil {
		return fmt.Errorf("mount overlay: %w", err)
	}
	return nil
}
