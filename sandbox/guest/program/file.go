//go:build linux

package main

import (
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// put moves an uploaded file to its place in one step. It may run twice, and at once: where
// the uploaded file is gone, another call has put it in its place.
func put(r protocol.Request) protocol.Answer {
	err := place(r)
	switch {
	case err == nil, !exists(r.File):
		return protocol.Answer{Result: protocol.OK}
	case errors.Is(err, errOutside):
		return protocol.Answer{Result: protocol.BadPath}
	case noRoom(err):
		return protocol.Answer{Result: protocol.DiskFull}
	}
	return failed(err.Error())
}

// errOutside says that a path leads to where no file may be put.
var errOutside = errors.New("path leads outside")

func place(r protocol.Request) error {
	dir, err := resolve(path.Dir(r.Target))
	if err != nil || !inside(dir) || strings.HasPrefix(dir+"/", protocol.StateDir+"/") {
		return errOutside
	}
	if os.MkdirAll(dir, 0o755) != nil {
		return errOutside
	}
	target := dir + "/" + path.Base(r.Target)
	if st, err := os.Lstat(target); err == nil && st.IsDir() {
		return errOutside
	}
	mode, err := strconv.ParseUint(r.Mode, 8, 32)
	if err != nil {
		return err
	}
	if err := os.Chmod(r.File, os.FileMode(mode)); err != nil {
		return err
	}
	err = os.Rename(r.File, target)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	return copyOver(r.File, dir, target, os.FileMode(mode))
}

// copyOver is a rename from one file system to another.
func copyOver(from, dir, target string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(dir, ".yudai-")
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in)
	err = errors.Join(err, out.Chmod(mode), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return os.Remove(from)
}

// inside reports whether a real path is where files may be.
func inside(p string) bool {
	return strings.HasPrefix(p+"/", "/workspace/") || strings.HasPrefix(p+"/", "/tmp/")
}

// resolve follows the links of a path, of which the last parts need not exist.
func resolve(p string) (string, error) {
	fd, err := syscall.Open(p, syscall.O_CLOEXEC|0x200000, 0) // O_PATH
	if err == nil {
		defer closeFd(fd)
		return os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	}
	if !errors.Is(err, os.ErrNotExist) || exists(p) || p == "/" { // or a link that leads nowhere
		return "", errOutside
	}
	dir, err := resolve(path.Dir(p))
	return dir + "/" + path.Base(p), err
}

// find answers with the real path of a regular file.
func find(r protocol.Request) protocol.Answer {
	st, err := os.Lstat(r.File)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return protocol.Answer{Result: protocol.Missing}
	case err != nil, !st.Mode().IsRegular():
		return protocol.Answer{Result: protocol.BadPath}
	}
	p, err := resolve(r.File)
	if err != nil || !inside(path.Dir(p)) {
		return protocol.Answer{Result: protocol.BadPath}
	}
	return protocol.Answer{Result: protocol.OK, Detail: p}
}

// remove removes an uploaded file.
func remove(r protocol.Request) protocol.Answer {
	if err := os.Remove(r.File); err != nil && !errors.Is(err, os.ErrNotExist) {
		return failed(err.Error())
	}
	return protocol.Answer{Result: protocol.OK}
}

// writeFile copies the standard input to a file.
func writeFile(r protocol.Request) error {
	f, err := os.OpenFile(r.File, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, os.Stdin)
	return errors.Join(err, f.Close())
}

// readFile copies a file to the standard output.
func readFile(r protocol.Request) error {
	f, err := os.Open(r.File)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(os.Stdout, f)
	return err
}
