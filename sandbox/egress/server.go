package egress

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
)

const socketName = "sock"

// Server is a proxy on a unix socket in a directory that is shown inside one sandbox.
type Server struct {
	*Proxy
	done  chan struct{}
	ended error
}

// Listen serves a proxy in an existing directory, which is opened to everybody
// who can see it: its parent is to be private. The socket of a dead owner is replaced.
func Listen(dir string, o Options) (*Server, error) {
	if err := os.Remove(filepath.Join(dir, socketName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove an old proxy socket: %w", err)
	}
	l, err := listenIn(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{Proxy: New(o), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.ended = s.Serve(l)
	}()
	return s, nil
}

// Close ends the proxy and waits for it. It may be called twice.
func (s *Server) Close() error {
	err := s.Proxy.Close()
	<-s.done
	return errors.Join(err, s.ended)
}

// listenIn makes the socket. Its path goes through a descriptor because that of a
// socket is limited to 107 bytes.
func listenIn(dir string) (net.Listener, error) {
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // seen only from inside the one sandbox: the parent is private
		return nil, fmt.Errorf("make proxy directory: %w", err)
	}
	at, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open proxy directory: %w", err)
	}
	defer func() { _ = at.Close() }()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", at.Fd(), socketName)})
	if err != nil {
		return nil, fmt.Errorf("listen for the sandbox: %w", err)
	}
	l.SetUnlinkOnClose(false)                                               // the descriptor of the path is gone by then
	if err := os.Chmod(filepath.Join(dir, socketName), 0o666); err != nil { //nolint:gosec // as above
		_ = l.Close()
		return nil, fmt.Errorf("open proxy socket: %w", err)
	}
	return l, nil
}

// CheckAllow refuses entries of an allow-list that are not host names.
func CheckAllow(allow []string) error {
	for _, h := range allow {
		if h == "" || slices.Contains([]string{"*", "*."}, h) || net.ParseIP(h) != nil {
			return fmt.Errorf("network allow-list: %q is not a host name like proxy.golang.org or *.example.org", h)
		}
	}
	return nil
}

// Ranges reads address ranges like 10.1.0.0/16.
func Ranges(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range texts {
		r, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("%q is not an address range like 10.1.0.0/16", s)
		}
		out = append(out, r)
	}
	return out, nil
}
