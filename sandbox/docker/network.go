package docker

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/yudai-dev/yudai/sandbox/egress"
)

// socketDir is where the directory of Network.Socket is shown inside.
const socketDir = "/run/yudai/socket"

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
