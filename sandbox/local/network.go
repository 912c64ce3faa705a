package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/yudai-dev/yudai/sandbox/egress"
)

// egressServer is the proxy of one sandbox, on a unix socket in a directory of
// its own that is shown inside.
type egressServer struct {
	proxy *egress.Proxy
	dir   string
	stays bool // the directory is shown as long as the sandbox lives, whoever owns it
	ended func(error)
}

// startEgress serves an allow-list. The sandbox of a stage that outlives its owner goes
// on to see the directory that it saw first: there the next owner's socket appears.
func startEgress(d *Driver, allow []string, lasting string) (*egressServer, error) {
	private, err := egress.Ranges(d.config.AllowPrivate)
	if err != nil {
		return nil, fmt.Errorf("sandbox.local.allow_private: %w", err)
	}
	e := &egressServer{dir: lasting, stays: lasting != "", ended: func(err error) { d.log.Error().Err(err).Msg("sandbox proxy ended") }}
	if e.stays {
		err = os.MkdirAll(lasting, 0o755) //nolint:gosec // its parent is private
	} else {
		e.dir, err = os.MkdirTemp(filepath.Join(d.state.dir, makingDir), selfPrefix()+"proxy-*")
	}
	if err != nil {
		return nil, fmt.Errorf("make proxy directory: %w", err)
	}
	e.proxy, err = egress.Listen(e.dir, egress.Options{Allow: allow, AllowPrivate: private, Resolver: d.resolver, Dial: d.dial})
	if err != nil {
		return nil, errors.Join(err, e.tidy())
	}
	return e, nil
}

// close ends the proxy.
func (e *egressServer) close() {
	if err := e.proxy.Close(); err != nil {
		e.ended(err)
	}
	_ = e.tidy()
}

// tidy removes the directory, if it is not the sandbox's own.
func (e *egressServer) tidy() error {
	if e.stays {
		return nil
	}
	return os.RemoveAll(e.dir)
}
