package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/yudai-dev/yudai/internal/unixsock"
)

// Server is a proxy on a unix socket in a directory that is shown inside one sandbox.
type Server struct {
	*Proxy
	done  chan struct{}
	ended error
}

// Listen serves a proxy in an existing directory, which is opened to everybody
// who can see it: its parent is to be private. The socket of a dead owner is replaced.
func Listen(dir string, o Options) (*Server, error) {
	l, err := unixsock.Listen(dir)
	if err != nil {
		return nil, fmt.Errorf("serve proxy: %w", err)
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
