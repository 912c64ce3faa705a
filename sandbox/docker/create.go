package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// callTime bounds calls that are not to be cut short: whoever gives up a call
// does not know what it did.
const callTime = 2 * time.Minute

// detached is a context for such a call.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), callTime)
}

// containerName is a sandbox's name on the engine.
func (d *Driver) containerName(name string) string { return "yudai-" + d.deployment + "-" + name }

// create makes the container and proves that commands can run. What it made it
// removes when it fails.
func (d *Driver) create(ctx context.Context, p *plan) (_ *handle, err error) {
	if len(p.allow) > 0 {
		if p.proxy, err = d.makeProxyDir(p.name); err != nil {
			return nil, err
		}
	}
	id, err := d.make(ctx, p)
	if errdefs.IsConflict(err) && d.removeEnded(ctx, p.name) {
		id, err = d.make(ctx, p)
	}
	if err == nil {
		failpoint.Hit("sandbox", "open", "named")
		err = d.start(ctx, p, id)
	}
	var b *handle
	if err == nil {
		b, err = d.adopt(ctx, p, id, false)
	}
	if err == nil {
		return b, nil
	}
	if errdefs.IsConflict(err) && id == "" {
		return nil, errors.New("name is in use")
	}
	return nil, errors.Join(err, d.undo(ctx, p))
}

// make creates the container. Its answer is waited for whatever the caller does.
func (d *Driver) make(ctx context.Context, p *plan) (string, error) {
	ctx, cancel := detached(ctx)
	defer cancel()
	res, err := d.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: d.containerName(p.name), Config: d.containerConfig(p), HostConfig: d.hostConfig(p),
	})
	return res.ID, err
}

// start starts the container, with our directories in it.
func (d *Driver) start(ctx context.Context, p *plan, id string) error {
	if err := d.fill(ctx, p, id); err != nil {
		return err
	}
	if _, err := d.api.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start container: %w", err)
	}
	return nil
}

// fill copies into a container what its image lacks: the program inside, and the two
// directories that commands can write.
func (d *Driver) fill(ctx context.Context, p *plan, id string) error {
	if !p.fresh && !p.missing {
		return nil
	}
	data, err := p.program.Data()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(h tar.Header) { // a buffer takes everything
		h.ModTime = time.Now()
		_ = w.WriteHeader(&h)
	}
	if p.fresh {
		add(tar.Header{Typeflag: tar.TypeDir, Name: "workspace/", Mode: 0o755, Uid: d.config.UID, Gid: d.config.UID})
		add(tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777})
	}
	add(tar.Header{Typeflag: tar.TypeDir, Name: protocol.ProgramDir[1:] + "/", Mode: 0o755})
	add(tar.Header{Typeflag: tar.TypeReg, Name: p.program.Path[1:], Mode: 0o755, Size: int64(len(data))})
	_, _ = w.Write(data)
	_ = w.Close()
	if _, err := d.api.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: "/", Content: &out}); err != nil {
		return fmt.Errorf("put yudai's program into the container: %w", err)
	}
	return nil
}

// adopt makes the handle of a container that runs.
func (d *Driver) adopt(ctx context.Context, p *plan, id string, attach bool) (_ *handle, err error) {
	b := &handle{driver: d, id: id, name: p.name, token: token()}
	if len(p.allow) > 0 {
		if b.proxy, err = d.serve(p.name, p.allow); err != nil {
			return nil, err
		}
	}
	o := guest.Options{
		Name: p.name, Token: b.token, Env: environment(len(p.allow) > 0), OOM: "cgroup", Program: p.program.Path, Ways: p.ways(),
		Disk: b.used, DiskLimit: p.limits.Disk, Launch: p.launch,
	}
	take := guest.Open
	if attach {
		take = guest.Attach
	}
	if b.Handle, err = take(ctx, &machine{driver: d, id: id}, o); err == nil {
		err = b.own()
	}
	if err != nil {
		b.stopProxy()
		if errors.Is(err, sandbox.ErrSetting) {
			err = fmt.Errorf("sandbox.docker.image %s: %w", d.config.Image, err)
		}
		return nil, err
	}
	d.mu.Lock()
	d.live[p.name] = b
	d.mu.Unlock()
	return b, nil
}

// undo removes what a failed Open made, and only that.
func (d *Driver) undo(ctx context.Context, p *plan) error {
	ctx, cancel := detached(ctx)
	defer cancel()
	c, err := d.find(ctx, p.name)
	if err == nil && c.Config.Labels[labelOwner] == p.labels[labelOwner] {
		err = d.remove(ctx, c.ID)
	}
	if p.proxy != "" {
		_ = os.RemoveAll(p.proxy)
	}
	if errors.Is(err, sandbox.ErrGone) {
		return nil
	}
	return err
}

// removeEnded removes the container of that name if it ended, and reports it.
func (d *Driver) removeEnded(ctx context.Context, name string) bool {
	c, err := d.find(ctx, name)
	if errors.Is(err, sandbox.ErrGone) {
		return true // it went just now
	}
	if err != nil || (c.State.Status != container.StateExited && c.State.Status != container.StateDead) {
		return false
	}
	return d.remove(ctx, c.ID) == nil
}

// find inspects the container of a sandbox of this deployment; sandbox.ErrGone if
// there is none.
func (d *Driver) find(ctx context.Context, name string) (container.InspectResponse, error) {
	res, err := d.api.ContainerInspect(ctx, d.containerName(name), client.ContainerInspectOptions{})
	switch {
	case errdefs.IsNotFound(err):
		return container.InspectResponse{}, sandbox.ErrGone
	case err != nil:
		return container.InspectResponse{}, err
	case res.Container.Config.Labels[labelDeployment] != d.deployment || res.Container.Config.Labels[labelName] != name:
		return container.InspectResponse{}, fmt.Errorf("the container %s is not ours: %w", d.containerName(name), sandbox.ErrGone)
	}
	return res.Container, nil
}

// remove kills and removes a container, whatever becomes of the caller. One that is
// not there, or goes already, is no error.
func (d *Driver) remove(ctx context.Context, id string) error {
	ctx, cancel := detached(ctx)
	defer cancel()
	_, err := d.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsConflict(err) && strings.Contains(err.Error(), "in progress") {
		err = d.awaitGone(ctx, id)
	}
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove container: %w", d.explain(err))
	}
	return nil
}

// awaitGone waits for a removal that another call began.
func (d *Driver) awaitGone(ctx context.Context, id string) error {
	for {
		if _, err := d.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{}); err != nil {
			return err
		}
		if err := guest.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
