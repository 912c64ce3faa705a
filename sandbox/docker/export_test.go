package docker

import (
	"context"
	"net"

	"github.com/yudai-dev/yudai/sandbox/egress"
)

// SetNetwork replaces the system's resolver and dialler in the proxy.
func (d *Driver) SetNetwork(r egress.Resolver, dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	d.egress.Resolver, d.egress.Dial = r, dial
}

// Names on the engine.
func (d *Driver) ContainerName(name string) string { return d.containerName(name) }
func (d *Driver) BaseName(name string) string      { return d.baseName(name) }

// Explain makes an error of the client one of the contract.
func (d *Driver) Explain(err error) error { return d.explain(err) }

// Demultiplex reads the stream of an exec.
func Demultiplex(r interface{ Read([]byte) (int, error) }, out func(stderr bool, data []byte)) error {
	return demultiplex(r, out)
}
