package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// openIn opens a path as a process inside would: links lead where they lead there,
// and never out of the machine.
func (m *Machine) openIn(name string, flags int, perm fs.FileMode) (*os.File, error) {
	root, err := m.root.SyscallConn()
	if err != nil {
		return nil, errors.Join(ErrStopped, err)
	}
	how := &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(perm.Perm())
	}
	var fd int
	stopped := root.Control(func(root uintptr) {
		for {
			fd, err = unix.Openat2(int(root), path.Join("/", name), how)
			if err != unix.EINTR && err != unix.EAGAIN { //nolint:errorlint // a bare number of the kernel's
				return
			}
		}
	})
	if err = errors.Join(stopped, err); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// OpenFile opens a file of the machine as the host's root, following links inside.
// A file that it makes belongs to root.
func (m *Machine) OpenFile(name string, flags int, perm fs.FileMode) (*os.File, error) {
	return m.openIn(name, flags|unix.O_NONBLOCK|unix.O_NOCTTY, perm)
}

// Open opens a file of the machine for reading.
func (m *Machine) Open(name string) (*os.File, error) { return m.OpenFile(name, os.O_RDONLY, 0) }

// Create makes or empties a file of the machine, for writing.
func (m *Machine) Create(name string) (*os.File, error) {
	return m.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
}

// Within calls do with a path of the host that leads to the file name of the
// machine while do runs, whose last element is not resolved if it is a link: for os.Lstat,
// os.Mkdir, os.Rename and their like. No link on the way leads out of the machine.
func (m *Machine) Within(name string, do func(host string) error) error {
	name = path.Join("/", name)
	dir, err := m.openIn(path.Dir(name), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(path.Join(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), path.Base(name)))
}
