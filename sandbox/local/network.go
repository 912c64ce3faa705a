package local

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/yudai-dev/yudai/sandbox/egress"
)

// egressServer is the proxy of one sandbox, on a unix socket in a directory of
// its own that is shown inside.
type egressServer struct {
	proxy *egress.Proxy
	dir   string
	done  chan struct{}
}

// startEgress serves an allow-list.
func startEgress(d *Driver, allow []string) (*egressServer, error) {
	o := egress.Options{Allow: allow, Resolver: d.resolver, Dial: d.dial}
	for _, s := range d.config.AllowPrivate {
		r, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("sandbox.local.allow_private: %w", err)
		}
		o.AllowPrivate = append(o.AllowPrivate, r)
	}
	dir, err := os.MkdirTemp(filepath.Join(d.state.dir, makingDir), selfPrefix()+"proxy-*")
	if err != nil {
		return nil, fmt.Errorf("make proxy directory: %w", err)
	}
	l, err := listenIn(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	e := &egressServer{proxy: egress.New(o), dir: dir, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		if err := e.proxy.Serve(l); err != nil {
			d.log.Error().Err(err).Msg("sandbox proxy ended")
		}
	}()
	return e, nil
}

// listenIn makes the socket dir/sock for everybody who can see it. The path
// goes through a descriptor because that of a socket is limited to 107 bytes.
func listenIn(dir string) (net.Listener, error) {
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // seen only from inside the one sandbox: the parent is private
		return nil, fmt.Errorf("make proxy directory: %w", err)
	}
	at, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open proxy directory: %w", err)
	}
	defer func() { _ = at.Close() }()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/sock", at.Fd())})
	if err != nil {
		return nil, fmt.Errorf("listen for the sandbox: %w", err)
	}
	l.SetUnlinkOnClose(false)                                           // the descriptor of the path is gone by then
	if err := os.Chmod(filepath.Join(dir, "sock"), 0o666); err != nil { //nolint:gosec // as above
		_ = l.Close()
		return nil, fmt.Errorf("open proxy socket: %w", err)
	}
	return l, nil
}

// close ends the proxy and removes its directory.
func (e *egressServer) close() {
	_ = e.proxy.Close()
	<-e.done
	_ = os.RemoveAll(e.dir)
}

// checkAllow refuses entries that are not host names.
func checkAllow(allow []string) error {
	for _, h := range allow {
		if h == "" || slices.Contains([]string{"*", "*."}, h) || net.ParseIP(h) != nil {
			return fmt.Errorf("network allow-list: %q is not a host name like proxy.golang.org or *.example.org", h)
		}
	}
	return nil
}
