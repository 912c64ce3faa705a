package docker

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
)

// forwardArg is argv[1] of the forwarder that runs inside a sandbox whose network
// has an allow-list or a socket. What follows are its ways, an address and a socket each.
const forwardArg = "__yudai-docker-forward"

// socketDir is where the directory of Network.Socket is shown inside.
const socketDir = "/run/yudai/socket"

// Stage must be called first thing by main, and by TestMain in a package whose
// tests use the driver. In an ordinary process it returns at once. In one that the
// driver's containers started it does that helper's work and never returns.
func Stage() {
	switch {
	case len(os.Args) >= 4 && os.Args[1] == forwardArg:
		os.Exit(runForward(os.Args[2:]))
	case len(os.Args) == 3 && os.Args[1] == forwardArg: // a probe
		c, err := net.Dial("unix", egress.SocketInside) //nolint:noctx // a local socket answers at once
		if err != nil {
			os.Exit(1)
		}
		_ = c.Close()
		os.Exit(0)
	}
}

// runForward listens on the sandbox's own loopback and hands every connection to
// the socket that belongs to the address, as long as the sandbox lives.
func runForward(ways []string) int {
	var all sync.WaitGroup
	for way := range slices.Chunk(ways, 2) {
		l, err := net.Listen("tcp", way[0]) //nolint:noctx // it lives as long as this process
		if err != nil {
			return 1
		}
		all.Go(func() { egress.Forward(l, way[1]) })
	}
	all.Wait()
	return 0
}

// forwards returns 0 as soon as the forwarder listens at all addresses.
const forwards = `for _ in {1..1000}; do
  : 2>/dev/null 3<>"/dev/tcp/${1/://}" && shift
  [ $# != 0 ] || exit 0
  read -r -t 0.01 <> <(:)
done
exit 1`

// awaitForwarder waits until programs in the container can reach what is shown to it.
func (m *machine) awaitForwarder(ctx context.Context, p *plan) error {
	argv := []string{"/bin/bash", "-c", forwards, "yudai"}
	if len(p.allow) > 0 {
		argv = append(argv, egress.Address)
	}
	if p.socket != "" {
		argv = append(argv, sandbox.SocketAddress)
	}
	if len(argv) == 4 {
		return nil
	}
	code, err := m.run(ctx, argv, nil, func(bool, []byte) {})
	if err == nil && code != 0 {
		err = fmt.Errorf("%w: yudai's forwarder does not start in the container", sandbox.ErrUnavailable)
	}
	return err
}

// binary is our own program, as the engine finds it.
func (d *Driver) binary() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// checkSocket refuses a directory that the container's user could not look into.
func checkSocket(dir string) error {
	if dir == "" {
		return nil
	}
	st, err := os.Stat(dir)
	switch {
	case !filepath.IsAbs(dir):
		return fmt.Errorf("the socket's directory %s is not an absolute path", dir)
	case err != nil:
		return fmt.Errorf("the socket's directory: %w", err)
	case !st.IsDir():
		return fmt.Errorf("the socket's directory %s is no directory", dir)
	case st.Mode().Perm()&0o005 != 0o005:
		return fmt.Errorf("the socket's directory %s has mode %#o: everybody in the sandbox has to read it: chmod 755", dir, st.Mode().Perm())
	}
	return nil
}

// proxyDir is where a sandbox's proxy has its socket. Its parent is private.
func (d *Driver) proxyDir(name string) string {
	return filepath.Join(d.config.ProxyDir, d.deployment, name)
}

// makeProxyDir makes it.
func (d *Driver) makeProxyDir(name string) (string, error) {
	dir := d.proxyDir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("sandbox.docker.proxy_dir: %w", err)
	}
	return dir, nil
}

// serve starts the proxy of a sandbox, in a directory that its container knows already.
func (d *Driver) serve(name string, allow []string) (*egress.Server, error) {
	private, err := egress.Ranges(d.config.AllowPrivate)
	if err != nil {
		return nil, fmt.Errorf("sandbox.docker.allow_private: %w", err)
	}
	return egress.Listen(d.proxyDir(name), egress.Options{Allow: allow, AllowPrivate: private, Resolver: d.resolver, Dial: d.dial})
}
