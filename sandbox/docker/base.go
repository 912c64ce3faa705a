package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// Build is how the image of the default settings is made.
const Build = "`make docker-image` in yudai's source builds yudai/sandbox:1 on the engine that the docker command uses; " +
	"any image with bash 5, git, tar and coreutils will do"

// imageFacts are what a container needs to know of its image.
type imageFacts struct {
	id     string
	labels map[string]string
	// volumes are directories that the image wants to be kept apart.
	volumes int
	program guest.Program // for its architecture
}

// source is the image that a sandbox starts from: a base, or that of the settings.
func (d *Driver) source(ctx context.Context, from string) (imageFacts, error) {
	if from != "" {
		image, err := d.base(ctx, from)
		if err != nil {
			err = fmt.Errorf("base %s: %w", from, err)
		}
		return image, err
	}
	image, err := d.inspectImage(ctx, d.config.Image)
	switch {
	case errdefs.IsNotFound(err):
		return image, fmt.Errorf("%w: sandbox.docker.image: the engine has no image %s, and nothing is pulled: %s",
			sandbox.ErrSetting, d.config.Image, Build)
	case err == nil && image.volumes > 0:
		return image, fmt.Errorf("%w: sandbox.docker.image: %s declares volumes, which no base could hold: build it without VOLUME",
			sandbox.ErrSetting, d.config.Image)
	}
	return image, err
}

func (d *Driver) inspectImage(ctx context.Context, name string) (imageFacts, error) {
	res, err := d.api.ImageInspect(ctx, name)
	if err != nil {
		return imageFacts{}, err
	}
	f := imageFacts{id: res.ID}
	if f.program, err = guest.ProgramFor(res.Architecture); err != nil {
		return f, fmt.Errorf("%w: image %s: %w", sandbox.ErrSetting, name, err)
	}
	if res.Config != nil {
		f.labels, f.volumes = res.Config.Labels, len(res.Config.Volumes)
	}
	return f, nil
}

// baseName is the image of a base.
func (d *Driver) baseName(name string) string { return "yudai-base:" + d.deployment + "-" + name }

// base is the image of a base; sandbox.ErrGone if there is none.
func (d *Driver) base(ctx context.Context, name string) (imageFacts, error) {
	if sandbox.CheckName(name) != nil {
		return imageFacts{}, sandbox.ErrGone
	}
	image, err := d.inspectImage(ctx, d.baseName(name))
	switch {
	case errdefs.IsNotFound(err):
		return image, sandbox.ErrGone
	case err != nil:
		return image, err
	case image.labels[labelDeployment] != d.deployment || image.labels[labelName] != name:
		return image, fmt.Errorf("the image %s is not ours: %w", d.baseName(name), sandbox.ErrGone)
	}
	return image, nil
}

// Freeze commits the container to an image and removes it. A process that dies in
// between leaves both; the next Freeze of that sandbox commits again, so that a base
// never lacks what was done since.
func (d *Driver) Freeze(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	failpoint.Hit("sandbox", "freeze", "before")
	defer failpoint.Hit("sandbox", "freeze", "after")
	h, ok := sb.(*handle)
	if !ok || h.driver != d {
		return "", fmt.Errorf("freeze sandbox %s: it is another driver's", sb.Name())
	}
	if err := d.freeze(ctx, h); err != nil {
		return "", fmt.Errorf("freeze sandbox %s: %w", h.name, d.explain(err))
	}
	return h.name, nil
}

func (d *Driver) freeze(ctx context.Context, h *handle) error {
	h.ending.Lock()
	defer h.ending.Unlock()
	switch {
	case h.frozen:
		return nil
	case h.ended || !h.owned():
		return sandbox.ErrGone
	}
	if err := h.guest.Still(ctx); err != nil {
		return err
	}
	h.guest.End(nil)
	if err := d.commit(ctx, h); err != nil {
		return err
	}
	failpoint.Hit("sandbox", "freeze", "committed")
	if err := h.remove(ctx); err != nil {
		return err
	}
	h.frozen = true
	return nil
}

// commit makes the base. An image that an earlier, half-made freeze left under the
// name is removed.
func (d *Driver) commit(ctx context.Context, h *handle) error {
	old, err := d.base(ctx, h.name)
	if err != nil && !errors.Is(err, sandbox.ErrGone) {
		return err
	}
	res, err := d.api.ContainerCommit(ctx, h.id, client.ContainerCommitOptions{Reference: d.baseName(h.name)})
	if errdefs.IsNotFound(err) {
		return sandbox.ErrGone
	}
	if err == nil && old.id != "" && old.id != res.ID {
		err = d.removeUnused(ctx, old.id)
	}
	return err
}

// Thaw removes the base's image.
func (d *Driver) Thaw(ctx context.Context, base string) error {
	failpoint.Hit("sandbox", "thaw", "before")
	defer failpoint.Hit("sandbox", "thaw", "after")
	_, err := d.base(ctx, base)
	if err == nil {
		err = d.removeImage(ctx, d.baseName(base))
	}
	if err != nil && !errors.Is(err, sandbox.ErrGone) {
		return fmt.Errorf("thaw base %s: %w", base, d.explain(err))
	}
	return nil
}

// removeImage removes an image by its name or id; its parents stay. One that is gone is no error.
func (d *Driver) removeImage(ctx context.Context, image string) error {
	ctx, cancel := detached(ctx)
	defer cancel()
	_, err := d.api.ImageRemove(ctx, image, client.ImageRemoveOptions{})
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// removeUnused removes an image unless something was made from it: then a later Sweep does.
func (d *Driver) removeUnused(ctx context.Context, id string) error {
	err := d.removeImage(ctx, id)
	if errdefs.IsConflict(err) {
		return nil
	}
	return err
}

// HasBase reports whether the base's image is there.
func (d *Driver) HasBase(ctx context.Context, base string) bool {
	_, err := d.base(ctx, base)
	return err == nil
}
