package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/sandbox"
)

// facts are what an engine can do.
type facts struct {
	cpus      int
	memory    int64
	unlimited []string // what it cannot limit
	noNetwork string   // why there can be no allow-list; "" if there can
	notes     []string
}

// know returns what the engine can do, and what is to be read-only in an image.
// The first time it shows itself in a real container.
func (d *Driver) know(ctx context.Context, image imageFacts) (*facts, []string, error) {
	d.knowing.Lock()
	defer d.knowing.Unlock()
	readonly := d.images[image.id]
	if label, ok := image.labels[labelReadonly]; ok { // a base
		readonly = decode(label)
	}
	if d.known != nil && readonly != nil {
		return d.known, readonly, nil
	}
	f, readonly, err := d.learn(ctx, image)
	if err != nil {
		return nil, nil, err
	}
	d.known, d.images[image.id] = f, readonly
	return f, readonly, nil
}

// learn asks the engine.
func (d *Driver) learn(ctx context.Context, image imageFacts) (*facts, []string, error) {
	res, err := d.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, nil, err
	}
	info := res.Info
	if _, ok := info.Runtimes[d.config.Runtime]; d.config.Runtime != "" && !ok {
		return nil, nil, fmt.Errorf("%w: sandbox.docker.runtime: the engine has no runtime %q, only %s: install it and name it in the engine's daemon.json",
			sandbox.ErrSetting, d.config.Runtime, strings.Join(slices.Sorted(maps.Keys(info.Runtimes)), ", "))
	}
	if info.OSType != "linux" {
		return nil, nil, fmt.Errorf("%w: the engine runs containers of %s, and sandboxes are Linux: switch it, or set sandbox.docker.host", sandbox.ErrSetting, info.OSType)
	}
	f := &facts{cpus: info.NCPU, memory: info.MemTotal}
	for _, l := range []struct {
		can  bool
		what string
	}{{info.MemoryLimit, "memory"}, {info.CPUCfsQuota, "processor time"}, {info.PidsLimit, "processes"}} {
		if !l.can {
			f.unlimited = append(f.unlimited, l.what)
		}
	}
	if len(f.unlimited) > 0 {
		f.notes = append(f.notes, "the engine does not limit "+strings.Join(f.unlimited, ", ")+": a rootless engine needs cgroup v2 and delegation")
	}
	if !slices.ContainsFunc(info.SecurityOptions, func(s string) bool { return strings.HasPrefix(s, "name=seccomp") && !strings.Contains(s, "unconfined") }) {
		f.notes = append(f.notes, "the engine filters no system calls: start it with its default seccomp profile")
	}
	readonly, err := d.probe(ctx, image, f)
	if f.noNetwork != "" {
		f.notes = append(f.notes, "no sandbox can have an allow-list, or a socket of this machine: "+f.noNetwork)
	}
	return f, readonly, err
}

// check refuses limits that the engine cannot keep.
func (f *facts) check(l, asked sandbox.Limits, unlimited bool) error {
	from := func(key string, own bool) string {
		if own {
			return "the sandbox's limit"
		}
		return "sandbox.docker.limits." + key
	}
	switch {
	case len(f.unlimited) > 0 && !unlimited:
		return fmt.Errorf("%w: the engine cannot limit %s; a rootless engine needs cgroup v2 and delegation, or set sandbox.docker.allow_unlimited: true", sandbox.ErrLimit, strings.Join(f.unlimited, ", "))
	case l.CPUs > float64(f.cpus):
		return fmt.Errorf("%w: %s is %g processor cores and the engine's machine has %d: set it to that or less", sandbox.ErrLimit, from("cpus", asked.CPUs != 0), l.CPUs, f.cpus)
	case l.Memory > f.memory:
		return fmt.Errorf("%w: %s is %d MiB of memory and the engine's machine has %d: set it to less", sandbox.ErrLimit, from("memory_mib", asked.Memory != 0), l.Memory>>20, f.memory>>20)
	}
	return nil
}

// Traits says what the driver promises. Before the engine was reached once they are
// those of an engine on this machine.
func (d *Driver) Traits() sandbox.Traits {
	t := sandbox.Traits{
		Name: "docker", Isolation: "container without capabilities, privileges or network, behind the engine's system call filter",
		Fork: true, ForkHow: "commit", CoarseTimes: true, Network: true, Proxy: true, Socket: true, Launch: true, Attach: true, BackgroundDies: true,
		MemoryLimit: true, CPULimit: true, ProcessLimit: true, DiskLimit: true, MemoryKey: "sandbox.docker.limits.memory_mib",
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
	t.MemoryLimit, t.CPULimit, t.ProcessLimit = !slices.Contains(f.unlimited, "memory"), !slices.Contains(f.unlimited, "processor time"), !slices.Contains(f.unlimited, "processes")
	return t
}

// Times of asking the engine for what is not known yet, where nobody gave a limit.
const (
	askTime  = 20 * time.Second
	askAgain = 30 * time.Second
)

// facts are what is known of the engine. It is asked if that is nothing yet, but
// not again and again.
func (d *Driver) facts() (*facts, error) {
	d.knowing.Lock()
	f, asked := d.known, d.asked
	if f == nil && time.Since(asked) > askAgain {
		d.asked = time.Now()
	}
	d.knowing.Unlock()
	if f != nil {
		return f, nil
	}
	if time.Since(asked) <= askAgain {
		return nil, errors.New("the engine could not be asked what it can do")
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	image, err := d.image(ctx)
	if err == nil {
		f, _, err = d.know(ctx, image)
	}
	return f, d.explain(err)
}
