// Package unixsock makes the unix sockets that are shown inside one sandbox each.
package unixsock

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// Name is the socket's in its directory.
const Name = "sock"

// Listen makes the socket in an existing directory and lets everybody use both who can
// see them: the directory's parent must be private. It replaces the socket of a dead
// owner. The path goes through a descriptor, because the path of a socket is limited
// to 107 bytes.
func Listen(dir string) (net.Listener, error) {
	if err := os.Remove(filepath.Join(dir, Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove an old socket: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // seen only from inside the one sandbox: the parent is private
		return nil, fmt.Errorf("make socket directory: %w", err)
	}
	at, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open socket directory: %w", err)
	}
	defer func() { _ = at.Close() }()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", at.Fd(), Name)})
	if err != nil {
		return nil, fmt.Errorf("listen for the sandbox: %w", err)
	}
	l.SetUnlinkOnClose(false)                                         // the descriptor of the path is gone by then
	if err := os.Chmod(filepath.Join(dir, Name), 0o666); err != nil { //nolint:gosec // as above
		_ = l.Close()
		return nil, fmt.Errorf("open socket: %w", err)
	}
	return l, nil
}
