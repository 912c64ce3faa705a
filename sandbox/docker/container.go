package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/internal/clock"
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

// proxyDir is where a sandbox's proxy has its socket. Its parent is private.
func (d *Driver) proxyDir(name string) string {
	return filepath.Join(d.config.ProxyDir, d.deployment, name)
}

// create makes the container and proves that commands can run. What it made it
// removes when it fails.
func (d *Driver) create(ctx context.Context, p *plan) (*handle, error) {
	if len(p.spec.Network.Allow) > 0 {
		p.proxy = d.proxyDir(p.spec.Name)
		if err := os.MkdirAll(p.proxy, 0o700); err != nil {
			return nil, fmt.Errorf("sandbox.docker.proxy_dir: %w", err)
		}
	}
	id, err := d.make(ctx, p)
	if errdefs.IsConflict(err) && d.removeEnded(ctx, p.spec.Name) {
		id, err = d.make(ctx, p)
	}
	if errdefs.IsConflict(err) {
		return nil, errors.New("name is in use")
	}
	var h *handle
	if err == nil {
		failpoint.Hit("sandbox", "open", "named")
		err = d.start(ctx, p, id)
	}
	if err == nil {
		h, err = d.adopt(ctx, p, id, guest.Open)
	}
	if err != nil {
		return nil, errors.Join(err, d.undo(ctx, p))
	}
	return h, nil
}

// make creates the container. Its answer is waited for whatever the caller does.
func (d *Driver) make(ctx context.Context, p *plan) (string, error) {
	ctx, cancel := detached(ctx)
	defer cancel()
	res, err := d.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: d.containerName(p.spec.Name), Config: d.containerConfig(p), HostConfig: d.hostConfig(p),
	})
	return res.ID, err
}

// start starts the container, with our directories in it.
func (d *Driver) start(ctx context.Context, p *plan, id string) error {
	if err := d.fill(ctx, id, p.image, p.image.labels, p.spec.From == ""); err != nil {
		return err
	}
	if _, err := d.api.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start container: %w", err)
	}
	return nil
}

// fill copies into a container what it lacks: the guest program, unless the labels say that
// it is there, and in a fresh one the two directories that commands can write.
func (d *Driver) fill(ctx context.Context, id string, image imageFacts, labels map[string]string, fresh bool) error {
	if !fresh && labels[labelProgram] == image.program.Path {
		return nil
	}
	data, err := image.program.Data()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(h tar.Header) { // a buffer takes everything
		h.ModTime = time.Now()
		_ = w.WriteHeader(&h)
	}
	if fresh {
		add(tar.Header{Typeflag: tar.TypeDir, Name: "workspace/", Mode: 0o755, Uid: d.config.UID, Gid: d.config.UID})
		add(tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777})
	}
	add(tar.Header{Typeflag: tar.TypeDir, Name: protocol.ProgramDir[1:] + "/", Mode: 0o755})
	add(tar.Header{Typeflag: tar.TypeReg, Name: image.program.Path[1:], Mode: 0o755, Size: int64(len(data))})
	_, _ = w.Write(data)
	_ = w.Close()
	if _, err := d.api.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: "/", Content: &out}); err != nil {
		return fmt.Errorf("put yudai's program into the container: %w", err)
	}
	return nil
}

// undo removes what a failed Open made, and only that.
func (d *Driver) undo(ctx context.Context, p *plan) error {
	ctx, cancel := detached(ctx)
	defer cancel()
	c, err := d.find(ctx, p.spec.Name)
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
		for err = nil; err == nil; { // another call removes it
			if _, err = d.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{}); err == nil {
				err = clock.Sleep(ctx, 50*time.Millisecond)
			}
		}
	}
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove container: %w", d.explain(err))
	}
	return nil
}
