package e2bsim

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
)

// metadataPrefix is where a file's metadata is, among its extended attributes.
const metadataPrefix = "user.e2b."

// entry describes a file of the machine; of a link, its target's kind.
func (d *daemon) entry(name string) (*envd.EntryInfo, error) {
	var e *envd.EntryInfo
	err := d.machine.Within(name, func(host string) error {
		info, err := os.Lstat(host)
		if err != nil {
			return err
		}
		e = d.describe(name, host, info)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if e.SymlinkTarget != nil {
		if f, err := d.machine.Open(name); err == nil {
			defer f.Close()
			if info, err := f.Stat(); err == nil {
				e.Type = kind(info.Mode())
			}
		}
	}
	return e, nil
}

// describe makes an entry of what lstat says.
func (d *daemon) describe(name, host string, info fs.FileInfo) *envd.EntryInfo {
	e := &envd.EntryInfo{
		Name: path.Base(name), Type: kind(info.Mode()), Path: name, Size: info.Size(), Mode: uint32(info.Mode().Perm()),
		Permissions: info.Mode().String(), ModifiedTime: timestamppb.New(info.ModTime()),
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		e.Owner, e.Group = d.nameOf("/etc/passwd", st.Uid), d.nameOf("/etc/group", st.Gid)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err := os.Readlink(host); err == nil {
			e.SymlinkTarget = &target
		}
		return e
	}
	e.Metadata = metadata(host)
	return e
}

func kind(m fs.FileMode) envd.FileType {
	switch {
	case m.IsDir():
		return envd.FileType_FILE_TYPE_DIRECTORY
	case m&fs.ModeSymlink != 0:
		return envd.FileType_FILE_TYPE_SYMLINK
	case m.IsRegular():
		return envd.FileType_FILE_TYPE_FILE
	}
	return envd.FileType_FILE_TYPE_UNSPECIFIED
}

// nameOf finds the name of a uid or gid in the machine's own table.
func (d *daemon) nameOf(table string, id uint32) string {
	number := strconv.FormatUint(uint64(id), 10)
	f, err := d.machine.Open(table)
	if err != nil {
		return number
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Split(lines.Text(), ":"); len(fields) > 2 && fields[2] == number {
			return fields[0]
		}
	}
	return number
}

// metadata reads the metadata of a file of the host.
func metadata(host string) map[string]string {
	names := make([]byte, 16<<10)
	n, err := unix.Listxattr(host, names)
	if err != nil {
		return nil
	}
	var all map[string]string
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		key, ours := strings.CutPrefix(name, metadataPrefix)
		if !ours {
			continue
		}
		value := make([]byte, 8<<10)
		if n, err := unix.Getxattr(host, name, value); err == nil {
			if all == nil {
				all = map[string]string{}
			}
			all[key] = string(value[:n])
		}
	}
	return all
}

// setMetadata replaces the metadata of an open file.
func setMetadata(f *os.File, all map[string]string) error {
	fd := int(f.Fd())
	for key := range metadata(fmt.Sprintf("/proc/self/fd/%d", fd)) {
		if err := unix.Fremovexattr(fd, metadataPrefix+key); err != nil {
			return err
		}
	}
	for key, value := range all {
		if err := unix.Fsetxattr(fd, metadataPrefix+key, []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

// isDir reports whether a path of the machine leads to a directory.
func (d *daemon) isDir(name string) bool {
	f, err := d.machine.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	return err == nil && info.IsDir()
}

// parents makes a directory and those above it, for a user.
func (d *daemon) parents(name, user string) error {
	if name == "/" || d.isDir(name) {
		return nil
	}
	if err := d.parents(path.Dir(name), user); err != nil {
		return err
	}
	return d.machine.Within(name, func(host string) error {
		err := os.Mkdir(host, 0o755)
		if errors.Is(err, fs.ErrExist) && d.isDir(name) {
			return nil
		}
		if err != nil {
			return err
		}
		return os.Chown(host, idOf(user), idOf(user))
	})
}
