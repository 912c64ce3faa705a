package local

import (
	"context"
	"net"

	"github.com/yudai-dev/yudai/sandbox/egress"
)

// SetNetwork replaces the resolver and dialler of the allow-list proxy.
func (d *Driver) SetNetwork(r egress.Resolver, dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	d.resolver, d.dial = r, dial
}

// MaskArgs hides the places of tokens below a directory.
func MaskArgs(dir, inside string) []string { return maskArgs(dir, inside) }

// SeccompProgram is the filter of an architecture, and AllowedCalls what it is made from.
func SeccompProgram(arch string) ([]byte, error)          { return seccompProgram(arch) }
func AllowedCalls(arch string) (map[string]uint32, error) { return allowedCalls(arch) }
