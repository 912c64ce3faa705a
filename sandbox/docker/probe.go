package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// probeScript tells what is in the root directory, whether /usr is read-only, and
// whether our binary reaches our socket. Every fact is a line.
const probeScript = `shopt -s dotglob nullglob
for f in /*; do
  case $f in /workspace | /tmp | /proc | /sys | /dev | *$'\n'*) ;; *) [ -L "$f" ] || echo "path $f" ;; esac
done
[ ! -w / ] || echo "open"
while read -r _ _ _ _ where how _; do [ "$where" != /usr ] || [[ ,$how, != *,ro,* ]] || echo "readonly"; done </proc/self/mountinfo
if [ -n "$1" ]; then "$@" >/dev/null && echo "network"; fi
true`

// probeTime is the longest life of a container that only shows something.
const probeTime = 10 * time.Minute

// probe runs a container that shows what a sandbox from this image would be.
func (d *Driver) probe(ctx context.Context, image imageFacts, f *facts) ([]string, error) {
	p := &plan{name: "probe-" + token(), image: image.id, program: image.program, missing: true, readonly: []string{"/usr"}, limits: d.config.Limits.Fill(sandbox.Limits{}), ttl: probeTime}
	p.labels = map[string]string{labelProbe: "1", labelName: p.name, labelOwner: token()}
	d.probing.Store(p.name, nil)
	defer d.probing.Delete(p.name)
	p.limits.CPUs, p.limits.Memory = min(p.limits.CPUs, float64(f.cpus)), min(p.limits.Memory, f.memory)
	f.noNetwork = d.remote()
	var said []string
	var err error
	if f.noNetwork == "" {
		said, err = d.probeNetwork(ctx, p)
		if err != nil {
			f.noNetwork = err.Error()
		} else if !slices.Contains(said, "network") {
			f.noNetwork = "the engine does not show sandbox.docker.proxy_dir"
		}
	}
	if said == nil {
		p.proxy = ""
		if said, err = d.probeOnce(ctx, p); err != nil {
			return nil, d.explainStart(err)
		}
	}
	return readProbe(said)
}

// readProbe judges what the probe said.
func readProbe(said []string) ([]string, error) {
	readonly := []string{}
	for _, line := range said {
		if path, ok := strings.CutPrefix(line, "path "); ok {
			readonly = append(readonly, path)
		}
	}
	switch {
	case slices.Contains(said, "open"):
		return nil, fmt.Errorf("%w: sandbox.docker.image: its root directory can be written by everybody: chmod 755 /", sandbox.ErrSetting)
	case !slices.Contains(said, "readonly"):
		return nil, fmt.Errorf("%w: the engine does not make directories of an image read-only (HostConfig.ReadonlyPaths): use Docker 18.09 or newer", sandbox.ErrUnavailable)
	}
	return readonly, nil
}

// remote says why the engine cannot show files of ours; "" if it may.
func (d *Driver) remote() string {
	if u, err := url.Parse(d.api.DaemonHost()); err != nil || u.Scheme != "unix" {
		return "the engine at " + d.api.DaemonHost() + " is not on this machine"
	}
	return ""
}

// probeNetwork is probeOnce with a proxy.
func (d *Driver) probeNetwork(ctx context.Context, p *plan) ([]string, error) {
	dir, err := d.makeProxyDir(p.name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := egress.Listen(dir, egress.Options{})
	if err != nil {
		return nil, err
	}
	p.proxy = dir
	said, err := d.probeOnce(ctx, p)
	return said, errors.Join(err, s.Close())
}

// probeOnce runs the container and returns the lines it says.
func (d *Driver) probeOnce(ctx context.Context, p *plan) (_ []string, err error) {
	id, err := d.make(ctx, p)
	if err != nil {
		return nil, errors.Join(err, d.undo(ctx, p))
	}
	defer func() { err = errors.Join(err, d.remove(ctx, id)) }()
	if err := d.start(ctx, p, id); err != nil {
		return nil, err
	}
	argv := []string{"/bin/bash", "-c", probeScript, "yudai"}
	if p.proxy != "" {
		argv = append(argv, p.program.Path, protocol.VerbDial, "file="+egress.SocketInside)
	}
	var out bytes.Buffer
	m := &machine{driver: d, id: id}
	code, err := m.run(ctx, argv, nil, func(_ bool, data []byte) { out.Write(data) })
	if err == nil && code != 0 {
		err = fmt.Errorf("exit %d: %s", code, strings.TrimSpace(out.String()))
	}
	if err != nil {
		return nil, fmt.Errorf("look into the image: %w", err)
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n"), nil
}

// explainStart explains why no container of the image starts.
func (d *Driver) explainStart(err error) error {
	text := err.Error()
	switch {
	case known(err):
		return err
	case strings.Contains(text, "/bin/bash") && (strings.Contains(text, "no such file") || strings.Contains(text, "not found")):
		return fmt.Errorf("%w: sandbox.docker.image: %s has no /bin/bash: %s", sandbox.ErrSetting, d.config.Image, Build)
	case strings.Contains(text, "runtime") && errdefs.IsInvalidArgument(err):
		return fmt.Errorf("%w: sandbox.docker.runtime: %w", sandbox.ErrSetting, err)
	}
	return fmt.Errorf("%w: the engine starts no container: %w", sandbox.ErrUnavailable, err)
}
