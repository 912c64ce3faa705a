package e2bsim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
)

// filesystemService answers what concerns files without their content.
type filesystemService struct{ d *daemon }

var _ envd.FilesystemHandler = (*filesystemService)(nil)

// failed maps an error of a file operation.
func failed(what, name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("file not found: %s %s: %w", what, name, err))
	case errors.Is(err, syscall.ENOTDIR):
		return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("path is not a directory: %s", name))
	}
	return connect.NewError(connect.CodeInternal, fmt.Errorf("%s %s: %w", what, name, err))
}

// Stat describes a file.
func (s *filesystemService) Stat(_ context.Context, r *connect.Request[envd.StatRequest]) (*connect.Response[envd.StatResponse], error) {
	name := absolute(r.Msg.GetPath(), s.d.basicUser(r.Header()))
	e, err := s.d.entry(name)
	if err != nil {
		return nil, failed("lstat", name, err)
	}
	return connect.NewResponse(&envd.StatResponse{Entry: e}), nil
}

// MakeDir makes a directory and those above it.
func (s *filesystemService) MakeDir(_ context.Context, r *connect.Request[envd.MakeDirRequest]) (*connect.Response[envd.MakeDirResponse], error) {
	user := s.d.basicUser(r.Header())
	name := absolute(r.Msg.GetPath(), user)
	if e, err := s.d.entry(name); err == nil {
		if e.GetType() == envd.FileType_FILE_TYPE_DIRECTORY {
			return nil, connect.NewError(connect.CodeAlreadyExists, fmt.Errorf("directory already exists: %s", name))
		}
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("path already exists but it is not a directory: %s", name))
	}
	if err := s.d.parents(name, user); err != nil {
		return nil, failed("mkdir", name, err)
	}
	e, err := s.d.entry(name)
	if err != nil {
		return nil, failed("lstat", name, err)
	}
	return connect.NewResponse(&envd.MakeDirResponse{Entry: e}), nil
}

// Move renames a file or directory; the directories above the new name are made.
func (s *filesystemService) Move(_ context.Context, r *connect.Request[envd.MoveRequest]) (*connect.Response[envd.MoveResponse], error) {
	user := s.d.basicUser(r.Header())
	from, to := absolute(r.Msg.GetSource(), user), absolute(r.Msg.GetDestination(), user)
	if err := s.d.parents(path.Dir(to), user); err != nil {
		return nil, failed("mkdir", path.Dir(to), err)
	}
	err := s.d.machine.Within(from, func(a string) error {
		return s.d.machine.Within(to, func(b string) error { return os.Rename(a, b) })
	})
	if err != nil {
		var link *os.LinkError
		if errors.As(err, &link) {
			err = link.Err
		}
		return nil, failed("rename", from, err)
	}
	e, err := s.d.entry(to)
	if err != nil {
		return nil, failed("lstat", to, err)
	}
	return connect.NewResponse(&envd.MoveResponse{Entry: e}), nil
}

// ListDir lists a directory down to a depth.
func (s *filesystemService) ListDir(_ context.Context, r *connect.Request[envd.ListDirRequest]) (*connect.Response[envd.ListDirResponse], error) {
	name := absolute(r.Msg.GetPath(), s.d.basicUser(r.Header()))
	dir, err := s.d.machine.Open(name)
	if err != nil {
		return nil, failed("lstat", name, err)
	}
	defer dir.Close()
	if info, err := dir.Stat(); err != nil || !info.IsDir() {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("path is not a directory: %s", name))
	}
	all := &envd.ListDirResponse{}
	if err := s.d.walk(name, max(int(r.Msg.GetDepth()), 1), all); err != nil {
		return nil, failed("open", name, err)
	}
	return connect.NewResponse(all), nil
}

// walk adds what is in a directory, each directory before what is in it.
func (d *daemon) walk(name string, depth int, all *envd.ListDirResponse) error {
	f, err := d.machine.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	// By its descriptor, so that the order is that of the names.
	entries, err := os.ReadDir(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return err
	}
	for _, each := range entries {
		below := path.Join(name, each.Name())
		e, err := d.entry(below)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		all.Entries = append(all.Entries, e)
		if depth > 1 && each.IsDir() {
			if err := d.walk(below, depth-1, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// Remove removes a file, or a directory with all in it. What is not there is no error.
func (s *filesystemService) Remove(_ context.Context, r *connect.Request[envd.RemoveRequest]) (*connect.Response[envd.RemoveResponse], error) {
	name := absolute(r.Msg.GetPath(), s.d.basicUser(r.Header()))
	if err := s.d.machine.Within(name, os.RemoveAll); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, failed("remove", name, err)
	}
	return connect.NewResponse(&envd.RemoveResponse{}), nil
}
