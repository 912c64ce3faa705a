package docker

import (
	"context"
	"errors"
	"fmt"
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
	*guest.Handle
	driver *Driver
	id     string // the container's
	name   string
	token  string         // of this owner
	proxy  *egress.Server // nil without an allow-list

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

// environment is what follows from the network.
func environment(network bool) map[string]string {
	env := sandbox.OfflineEnv()
	if network {
		env = sandbox.ProxyEnv(egress.Address)
	}
	env["GOTOOLCHAIN"] = "local" // the toolchain must be the one that is there
	return env
}

// Place tells the container's id.
func (b *handle) Place() sandbox.Place {
	return sandbox.Place{Driver: "docker", ID: b.id, HourlyUSD: b.driver.config.USDPerHour}
}

// Refused lists the hosts that the proxy refused.
func (b *handle) Refused() []string {
	if b.proxy == nil {
		return nil
	}
	return b.proxy.Refused()
}

// Close removes the container.
func (b *handle) Close(ctx context.Context) error {
	failpoint.Hit("sandbox", "close", "before")
	defer failpoint.Hit("sandbox", "close", "after")
	b.End(nil)
	b.ending.Lock()
	defer b.ending.Unlock()
	if !b.ended && b.owned() { // what is now another's is not ours to remove
		if err := b.remove(ctx); err != nil {
			return fmt.Errorf("close sandbox %s: %w", b.name, err)
		}
	}
	b.leave()
	return nil
}

// own notes that this handle has the sandbox now.
func (b *handle) own() error {
	return b.driver.book.Put(records.Record{Name: b.name, ID: b.id, More: map[string]string{"owner": b.token}, Created: time.Now()})
}

// owned reports whether no other handle has taken the sandbox over since. Where the
// notes are lost it is ours.
func (b *handle) owned() bool {
	r, err := b.driver.book.Get(b.name)
	return err != nil || r.ID != b.id || r.More["owner"] == b.token
}

// remove removes the container and everything that is noted of it, and ends the handle.
func (b *handle) remove(ctx context.Context) error {
	if err := b.driver.remove(ctx, b.id); err != nil {
		return err
	}
	b.leave()
	_ = os.RemoveAll(b.driver.proxyDir(b.name))
	_ = b.driver.book.Delete(b.name)
	return nil
}

// giveUp ends a handle whose sandbox another one takes over.
func (b *handle) giveUp() {
	b.End(nil)
	b.ending.Lock()
	defer b.ending.Unlock()
	b.leave()
}

// leave ends the handle and leaves the container as it is. It may be called twice.
func (b *handle) leave() {
	if b.ended {
		return
	}
	b.ended = true
	b.stopProxy()
	b.driver.mu.Lock()
	defer b.driver.mu.Unlock()
	if b.driver.live[b.name] == b {
		delete(b.driver.live, b.name)
	}
}

func (b *handle) stopProxy() {
	if b.proxy == nil {
		return
	}
	if err := b.proxy.Close(); err != nil {
		b.driver.log.Error().Err(err).Str(logkey.SandboxID, b.name).Msg("sandbox proxy ended")
	}
}

// used measures the container's own layer. The engine walks through all its
// files, so it is not asked again at once where that took long.
func (b *handle) used(ctx context.Context) (int64, error) {
	b.measuring.Lock()
	defer b.measuring.Unlock()
	if time.Since(b.measured) < 10*b.cost {
		return b.size, nil
	}
	began := time.Now()
	res, err := b.driver.api.ContainerInspect(ctx, b.id, client.ContainerInspectOptions{Size: true})
	if err != nil {
		return 0, fmt.Errorf("measure sandbox %s: %w", b.name, err)
	}
	if res.Container.SizeRw == nil {
		return 0, errors.New("the engine does not tell the size of a container")
	}
	b.size, b.measured, b.cost = *res.Container.SizeRw, time.Now(), time.Since(began)
	return b.size, nil
}

// living returns our own handle of that name, or nil.
func (d *Driver) living(name string) *handle {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[name]
}
