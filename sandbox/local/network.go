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
	proxy *egress.Server
	dir   string
	ended func(error)
}

// startEgress serves an allow-list.
func startEgress(d *Driver, allow []string) (*egressServer, error) {
	private, err := egress.Ranges(d.config.AllowPrivate)
	if err != nil {
		return nil, fmt.Errorf("sandbox.local.allow_private: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Join(d.state.dir, makingDir), selfPrefix()+"proxy-*")
	if err != nil {
		return nil, fmt.Errorf("make proxy directory: %w", err)
	}
	s, err := egress.Listen(dir, egress.Options{Allow: allow, AllowPrivate: private, Resolver: d.resolver, Dial: d.dial})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &egressServer{proxy: s, dir: dir, ended: func(err error) { d.log.Error().Err(err).Msg("sandbox proxy ended") }}, nil
}

// close ends the proxy and removes its directory.
func (e *egressServer) close() {
	if err := e.proxy.Close(); err != nil {
		e.ended(err)
	}
	_ = os.RemoveAll(e.dir)
}
