package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// facts are what an engine can do.
type facts struct {
	cpus      int
	memory    int64
	unlimited []string // what it cannot limit
	noNetwork string   // why there can be no allow-list; "" if there can
	notes     []string
	image     string   // the image that it was shown with
	readonly  []string // what is to be read-only in that image
}

// know returns what the engine can do, and what is to be read-only in an image: a base has it
// in a label. The first time it shows itself in a real container.
func (d *Driver) know(ctx context.Context, image imageFacts) (_ *facts, readonly []string, err error) {
	if d.knowing.Acquire(ctx, 1) != nil {
		return nil, nil, context.Cause(ctx)
	}
	defer d.knowing.Release(1)
	label, base := image.labels[labelReadonly]
	if d.known == nil || !base && d.known.image != image.id {
		f, err := d.learn(ctx, image)
		if err != nil {
			return nil, nil, err
		}
		d.known = f
	}
	if base {
		return d.known, decode(label), nil
	}
	return d.known, d.known.readonly, nil
}

// learn asks the engine.
func (d *Driver) learn(ctx context.Context, image imageFacts) (*facts, error) {
	res, err := d.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, err
	}
	info := res.Info
	if _, ok := info.Runtimes[d.config.Runtime]; d.config.Runtime != "" && !ok {
		return nil, fmt.Errorf("%w: sandbox.docker.runtime: the engine has no runtime %q, only %s: "+
			"install it and name it in the engine's daemon.json",
			sandbox.ErrSetting, d.config.Runtime, strings.Join(slices.Sorted(maps.Keys(info.Runtimes)), ", "))
	}
	if info.OSType != "linux" {
		return nil, fmt.Errorf("%w: the engine runs containers of %s, and sandboxes are Linux: switch it, or set sandbox.docker.host",
			sandbox.ErrSetting, info.OSType)
	}
	f := &facts{cpus: info.NCPU, memory: info.MemTotal, image: image.id}
	for _, l := range []struct {
		can  bool
		what string
	}{{info.MemoryLimit, "memory"}, {info.CPUCfsQuota, "processor time"}, {info.PidsLimit, "processes"}} {
		if !l.can {
			f.unlimited = append(f.unlimited, l.what)
		}
	}
	if len(f.unlimited) > 0 {
		f.notes = append(f.notes, "the engine does not limit "+strings.Join(f.unlimited, ", ")+
			": a rootless engine needs cgroup v2 and delegation")
	}
	filters := func(option string) bool {
		return strings.HasPrefix(option, "name=seccomp") && !strings.Contains(option, "unconfined")
	}
	if !slices.ContainsFunc(info.SecurityOptions, filters) {
		f.notes = append(f.notes, "the engine filters no system calls: start it with its default seccomp profile")
	}
	if err := d.probe(ctx, image, f); err != nil {
		return nil, err
	}
	if f.noNetwork != "" {
		f.notes = append(f.notes, "no sandbox can have an allow-list, or a socket of this machine: "+f.noNetwork)
	}
	return f, nil
}

// check refuses what the engine cannot keep; asked are the limits that the caller chose.
func (f *facts) check(spec sandbox.Spec, asked sandbox.Limits, unlimited bool) error {
	from := func(key string, own bool) string {
		if own {
			return "the sandbox's limit"
		}
		return "sandbox.docker.limits." + key
	}
	switch l := spec.Limits; {
	case len(f.unlimited) > 0 && !unlimited:
		return fmt.Errorf("%w: the engine cannot limit %s; a rootless engine needs cgroup v2 and delegation, or set "+
			"sandbox.docker.allow_unlimited: true", sandbox.ErrLimit, strings.Join(f.unlimited, ", "))
	case l.CPUs > float64(f.cpus):
		return fmt.Errorf("%w: %s is %g processor cores and the engine's machine has %d: set it to that or less",
			sandbox.ErrLimit, from("cpus", asked.CPUs != 0), l.CPUs, f.cpus)
	case l.Memory > f.memory:
		return fmt.Errorf("%w: %s is %d MiB of memory and the engine's machine has %d: set it to less",
			sandbox.ErrLimit, from("memory_mib", asked.Memory != 0), l.Memory>>20, f.memory>>20)
	case len(spec.Network.Allow) > 0 && f.noNetwork != "":
		return fmt.Errorf("%w: no sandbox with an allow-list: %s", sandbox.ErrUnavailable, f.noNetwork)
	case spec.Network.Socket != "" && f.noNetwork != "":
		return fmt.Errorf("%w: no sandbox with a socket of this machine: %s", sandbox.ErrUnavailable, f.noNetwork)
	}
	return nil
}

// Traits says what the driver promises. Before the engine was reached once they are
// those of an engine on this machine.
func (d *Driver) Traits() sandbox.Traits {
	t := sandbox.Traits{
		Name:      "docker",
		Isolation: "container without capabilities, privileges or network, behind the engine's system call filter",
		Fork:      true, ForkHow: "commit", CoarseTimes: true, Network: true, Proxy: true, Socket: true, Launch: true, Attach: true,
		BackgroundDies: true,
		MemoryLimit:    true, CPULimit: true, ProcessLimit: true, DiskLimit: true, MemoryKey: "sandbox.docker.limits.memory_mib",
		Limits: "memory, processor time and processes by the engine; disk by measuring the container's layer while commands run",
		Start:  "about half a second", Cost: "nothing but this machine, or `usd_per_hour`",
	}
	if d.config.Runtime != "" {
		t.Isolation += ", run by " + d.config.Runtime
	}
	f, err := d.facts()
	if err != nil {
		t.Notes = []string{err.Error()}
		return t
	}
	t.Network, t.Socket, t.Notes = f.noNetwork == "", f.noNetwork == "", f.notes
	t.MemoryLimit, t.CPULimit = !slices.Contains(f.unlimited, "memory"), !slices.Contains(f.unlimited, "processor time")
	t.ProcessLimit = !slices.Contains(f.unlimited, "processes")
	return t
}

// Traits asks the engine for at most askTime, and not again before askAgain is over.
const (
	askTime  = 20 * time.Second
	askAgain = 30 * time.Second
)

// facts are what is known of the engine. It is asked if that is nothing yet.
func (d *Driver) facts() (*facts, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	if err := d.knowing.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("the engine does not tell what it can do: %w", err)
	}
	f, wait := d.known, time.Since(d.asked) <= askAgain
	if f == nil && !wait {
		d.asked = time.Now()
	}
	d.knowing.Release(1)
	if f != nil {
		return f, nil
	}
	if wait {
		return nil, errors.New("the engine could not be asked what it can do")
	}
	image, err := d.source(ctx, "")
	if err == nil {
		f, _, err = d.know(ctx, image)
	}
	return f, d.explain(err)
}

// probeScript tells what is in the root directory, whether /usr is read-only, and
// whether the guest program reaches our socket. Every fact is a line.
const probeScript = `shopt -s dotglob nullglob
for f in /*; do
  case $f in /workspace | /tmp | /proc | /sys | /dev | *$'\n'*) ;; *) [ -L "$f" ] || echo "path $f" ;; esac
done
[ ! -w / ] || echo "open"
while read -r _ _ _ _ where how _; do [ "$where" != /usr ] || [[ ,$how, != *,ro,* ]] || echo "readonly"; done </proc/self/mountinfo
if "$@" >/dev/null 2>&1; then echo "network"; fi
true`

// probeTime is the longest life of a sandbox that only shows something.
const probeTime = 10 * time.Minute

// probe opens a sandbox of the image to see what the engine makes of it, with a network if
// that is possible.
func (d *Driver) probe(ctx context.Context, image imageFacts, f *facts) error {
	limits := d.config.Limits.Fill(sandbox.Limits{})
	limits.CPUs, limits.Memory = min(limits.CPUs, float64(f.cpus)), min(limits.Memory, f.memory)
	spec := sandbox.Spec{Name: "probe-" + token(), Limits: limits, TTL: probeTime}
	d.probing.Store(spec.Name, nil)
	defer d.probing.Delete(spec.Name)
	var said []string
	err := fmt.Errorf("the engine at %s is not on this machine", d.api.DaemonHost())
	if strings.HasPrefix(d.api.DaemonHost(), "unix:") {
		spec.Network.Allow = []string{"nowhere.invalid"}
		if said, err = d.look(ctx, spec, image); err == nil && !slices.Contains(said, "network") {
			err = errors.New("the engine does not show sandbox.docker.proxy_dir")
		}
	}
	if err != nil {
		f.noNetwork, spec.Network.Allow = err.Error(), nil
	}
	if said == nil {
		if said, err = d.look(ctx, spec, image); err != nil {
			return err
		}
	}
	for _, line := range said {
		if path, ok := strings.CutPrefix(line, "path "); ok {
			f.readonly = append(f.readonly, path)
		}
	}
	switch {
	case slices.Contains(said, "open"):
		return fmt.Errorf("%w: sandbox.docker.image: its root directory can be written by everybody: chmod 755 /", sandbox.ErrSetting)
	case !slices.Contains(said, "readonly"):
		return fmt.Errorf("%w: the engine does not make directories of an image read-only (HostConfig.ReadonlyPaths): "+
			"use Docker 18.09 or newer", sandbox.ErrUnavailable)
	}
	return nil
}

// look opens a sandbox and returns the lines that probeScript prints.
func (d *Driver) look(ctx context.Context, spec sandbox.Spec, image imageFacts) ([]string, error) {
	p := newPlan(spec, image, []string{"/usr"})
	p.labels[labelProbe] = "1"
	h, err := d.create(ctx, p)
	if err != nil {
		if err = d.explain(err); !known(err) {
			err = fmt.Errorf("%w: the engine starts no container: %w", sandbox.ErrUnavailable, err)
		}
		return nil, err
	}
	out, err := runOnce(ctx, h, "/bin/bash", "-c", probeScript, "yudai", image.program.Path, protocol.VerbDial, "file="+egress.SocketInside)
	if err != nil {
		return nil, err
	}
	return strings.Split(out, "\n"), nil
}

// runOnce runs a command in a sandbox, closes it, and returns what the command printed.
func runOnce(ctx context.Context, sb sandbox.Sandbox, argv ...string) (string, error) {
	out, res, err := sandbox.Output(ctx, sb, sandbox.Command{Argv: argv, Dir: "/"})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("a test command ended with exit %d: %s", res.ExitCode, strings.TrimSpace(out))
	}
	return strings.TrimSpace(out), errors.Join(err, sb.Close(ctx))
}

// Check runs a command in a real sandbox.
func (d *Driver) Check(ctx context.Context) error {
	sb, err := d.Open(ctx, sandbox.Spec{Name: "check-" + token(), TTL: probeTime})
	if err == nil {
		_, err = runOnce(ctx, sb, "/bin/bash", "-c", "git --version")
	}
	if err == nil || errors.Is(err, sandbox.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
}

// unreachable reports whether nobody answered at the engine's address.
func unreachable(err error) bool {
	return client.IsErrConnectionFailed(err) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}

// explain makes the client's errors those of the contract; others stay as they are.
func (d *Driver) explain(err error) error {
	var lost net.Error
	switch {
	case err == nil, known(err):
		return err
	case errors.Is(err, syscall.EACCES), strings.Contains(err.Error(), "permission denied while trying to connect"):
		return fmt.Errorf("%w: this user may not use the engine's socket %s: add it to the group docker, which makes it as good as root, "+
			"or run a rootless engine and name it in sandbox.docker.host: %w", sandbox.ErrUnavailable, d.api.DaemonHost(), err)
	case unreachable(err):
		return fmt.Errorf("%w: no container engine answers at %s: start it, or set sandbox.docker.host: %w",
			sandbox.ErrUnavailable, d.api.DaemonHost(), err)
	case strings.Contains(err.Error(), "runtime") && errdefs.IsInvalidArgument(err):
		return fmt.Errorf("%w: sandbox.docker.runtime: %w", sandbox.ErrSetting, err)
	case strings.Contains(err.Error(), "no space left on device"):
		return fmt.Errorf("%w: the engine's disk is full: %w", sandbox.ErrCapacity, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.As(err, &lost), errdefs.IsUnavailable(err), errdefs.IsInternal(err):
		return fmt.Errorf("%w: the container engine failed: %w", sandbox.ErrUnavailable, err)
	}
	return err
}

// known reports whether an error is the caller's end, or one of the contract already.
func known(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || sandbox.Explained(err)
}
