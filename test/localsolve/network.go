package localsolve

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/sandbox/egress"
	"github.com/yudai-dev/yudai/solver/judge"
)

// Private lists the private addresses that the registries of a repository
// have on this machine: a mirror inside a company. yudai refuses such addresses
// unless its operator allows them, which Config does for exactly these.
func Private(ctx context.Context, repo string) ([]string, error) {
	files, err := Paths(repo)
	if err != nil {
		return nil, err
	}
	setup, err := judge.Detect(files, func(p string) ([]byte, error) { return os.ReadFile(filepath.Join(repo, filepath.FromSlash(p))) })
	if err != nil {
		return nil, err
	}
	var out []string
	for _, host := range setup.Hosts {
		addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			continue // the install will say so if it needs it
		}
		for _, a := range addrs {
			if a = a.Unmap(); !egress.Public(a) {
				out = append(out, netip.PrefixFrom(a, a.BitLen()).String())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Config is the whole configuration of a solve: nothing, where registries are public.
func Config(private []string) string {
	if len(private) == 0 {
		return ""
	}
	return fmt.Sprintf("sandbox:\n  local:\n    allow_private: [\"%s\"]\n", strings.Join(private, `", "`))
}
