package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// handle is one sandbox.
type handle struct {
	guest  *guest.Handle // commands and files
	driver *Driver
	id     string // the container's
	name   string
	token  string        // of this owner
	proxy  *egress.Proxy // nil without an allow-list

	ending sync.Mutex // held by Close and Freeze
	ended  bool       // the container is gone, or another handle's
	frozen bool

	measuring sync.Mutex
	size      int64
	measured  time.Time
	cost      time.Duration
}

var (
	_ sandbox.Sandbox  = (*handle)(nil)
	_ sandbox.Placed   = (*handle)(nil)
	_ sandbox.Refuser  = (*handle)(nil)
	_ sandbox.Launcher = (*handle)(nil)
)

// What the guest program does.

func (h *handle) Name() string                                        { return h.name }
func (h *handle) Launch(ctx context.Context, c sandbox.Command) error { return h.guest.Launch(ctx, c) }
func (h *handle) Launched(ctx context.Context) (bool, error)          { return h.guest.Launched(ctx) }
func (h *handle) Halt(ctx context.Context) error                      { return h.guest.Halt(ctx) }
func (h *handle) Get(ctx context.Context, p string) (io.ReadCloser, error) {
	return h.guest.Get(ctx, p)
}
func (h *handle) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	return h.guest.Exec(ctx, c)
}
func (h *handle) Put(ctx context.Context, p string, r io.Reader, mode fs.FileMode) error {
	return h.guest.Put(ctx, p, r, mode)
}

// adopt takes a running container over. In a new one guest.Open is to be used, else guest.Attach.
func (d *Driver) adopt(ctx context.Context, p *plan, id string,
	take func(context.Context, guest.Remote, guest.Options) (*guest.Handle, error),
) (_ *handle, err error) {
	h := &handle{driver: d, id: id, name: p.spec.Name, token: token()}
	env := sandbox.OfflineEnv()
	if allow := p.spec.Network.Allow; len(allow) > 0 {
		o := d.egress
		o.Allow = allow
		if h.proxy, err = egress.Listen(d.proxyDir(h.name), o); err != nil {
			return nil, err
		}
		env = sandbox.ProxyEnv(egress.Address)
	}
	env["GOTOOLCHAIN"] = "local" // the toolchain must be the one that is there
	h.guest, err = take(ctx, &machine{driver: d, id: id}, guest.Options{
		Name: h.name, Token: h.token, Env: env, OOM: "cgroup", Program: p.image.program.Path, Ways: p.ways(),
		Disk: h.used, DiskLimit: p.spec.Limits.Disk, Launch: p.spec.Launch,
	})
	if err == nil {
		err = d.book.Put(records.Record{Name: h.name, ID: id, More: map[string]string{"owner": h.token}, Created: time.Now()})
	}
	if err != nil {
		h.stopProxy()
		if errors.Is(err, sandbox.ErrSetting) {
			err = fmt.Errorf("sandbox.docker.image %s: %w: %s", d.config.Image, err, Build)
		}
		return nil, err
	}
	d.mu.Lock()
	d.live[h.name] = h
	d.mu.Unlock()
	return h, nil
}

// Place tells the container's id.
func (h *handle) Place() sandbox.Place {
	return sandbox.Place{Driver: "docker", ID: h.id, HourlyUSD: h.driver.config.USDPerHour}
}

// Refused lists the hosts that the proxy refused.
func (h *handle) Refused() []string {
	if h.proxy == nil {
		return nil
	}
	return h.proxy.Refused()
}

// Close removes the container.
func (h *handle) Close(ctx context.Context) error {
	failpoint.Hit("sandbox", "close", "before")
	defer failpoint.Hit("sandbox", "close", "after")
	h.guest.End(nil)
	h.ending.Lock()
	defer h.ending.Unlock()
	if !h.ended && h.owned() { // a new owner removes it
		if err := h.remove(ctx); err != nil {
			return fmt.Errorf("close sandbox %s: %w", h.name, err)
		}
	}
	h.leave()
	return nil
}

// owned reports whether no other handle has taken the sandbox over since. Where the
// record is lost, this handle owns it.
func (h *handle) owned() bool {
	r, err := h.driver.book.Get(h.name)
	return err != nil || r.ID != h.id || r.More["owner"] == h.token
}

// remove removes the container and everything that is noted of it, and ends the handle.
func (h *handle) remove(ctx context.Context) error {
	if err := h.driver.remove(ctx, h.id); err != nil {
		return err
	}
	h.leave()
	_ = os.RemoveAll(h.driver.proxyDir(h.name))
	_ = h.driver.book.Delete(h.name)
	return nil
}

// giveUp ends a handle whose sandbox another one takes over.
func (h *handle) giveUp() {
	h.guest.End(nil)
	h.ending.Lock()
	defer h.ending.Unlock()
	h.leave()
}

// leave ends the handle and leaves the container as it is. It may be called twice.
func (h *handle) leave() {
	if h.ended {
		return
	}
	h.ended = true
	h.stopProxy()
	h.driver.mu.Lock()
	defer h.driver.mu.Unlock()
	if h.driver.live[h.name] == h {
		delete(h.driver.live, h.name)
	}
}

func (h *handle) stopProxy() {
	if h.proxy == nil {
		return
	}
	if err := h.proxy.Close(); err != nil {
		h.driver.log.Error().Err(err).Str(logkey.SandboxID, h.name).Msg("sandbox proxy ended")
	}
}

// used measures the container's own layer. The engine walks through all its
// files, so it is not asked again at once where that took long.
func (h *handle) used(ctx context.Context) (int64, error) {
	h.measuring.Lock()
	defer h.measuring.Unlock()
	if time.Since(h.measured) < 10*h.cost {
		return h.size, nil
	}
	began := time.Now()
	res, err := h.driver.api.ContainerInspect(ctx, h.id, client.ContainerInspectOptions{Size: true})
	if err != nil {
		return 0, fmt.Errorf("measure sandbox %s: %w", h.name, err)
	}
	if res.Container.SizeRw == nil {
		return 0, errors.New("the engine does not tell the size of a container")
	}
	h.size, h.measured, h.cost = *res.Container.SizeRw, time.Now(), time.Since(began)
	return h.size, nil
}

// living returns our own handle of that name, or nil.
func (d *Driver) living(name string) *handle {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[name]
}
