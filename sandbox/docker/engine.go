package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// Build is how the image of the default settings is made.
const Build = "`make docker-image` in yudai's source builds yudai/sandbox:1 on the engine that the docker command uses; any image with bash 5, git and coreutils will do"

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
		return fmt.Errorf("%w: this user may not use the engine's socket %s: add it to the group docker, which makes it as good as root, or run a rootless engine and name it in sandbox.docker.host: %w",
			sandbox.ErrUnavailable, d.api.DaemonHost(), err)
	case unreachable(err):
		return fmt.Errorf("%w: no container engine answers at %s: start it, or set sandbox.docker.host: %w", sandbox.ErrUnavailable, d.api.DaemonHost(), err)
	case strings.Contains(err.Error(), "no space left on device"):
		return fmt.Errorf("%w: the engine's disk is full: %w", sandbox.ErrCapacity, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.As(err, &lost), errdefs.IsUnavailable(err), errdefs.IsInternal(err):
		return fmt.Errorf("%w: the container engine failed: %w", sandbox.ErrUnavailable, err)
	}
	return err
}

// known reports whether an error speaks the contract's words already.
func known(err error) bool {
	for _, e := range []error{
		context.Canceled, context.DeadlineExceeded, sandbox.ErrUnavailable, sandbox.ErrCapacity, sandbox.ErrSetting,
		sandbox.ErrGone, sandbox.ErrLimit, sandbox.ErrPath, sandbox.ErrDisk,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// imageFacts are what a container needs to know of its image.
type imageFacts struct {
	id     string
	labels map[string]string
	// volumes are directories that the image wants to be kept apart.
	volumes int
	program guest.Program // for its architecture
}

// image is that of the settings.
func (d *Driver) image(ctx context.Context) (imageFacts, error) {
	image, err := d.inspectImage(ctx, d.config.Image)
	switch {
	case errdefs.IsNotFound(err):
		return image, fmt.Errorf("%w: sandbox.docker.image: the engine has no image %s, and nothing is pulled: %s", sandbox.ErrSetting, d.config.Image, Build)
	case err != nil:
		return image, err
	case image.volumes > 0:
		return image, fmt.Errorf("%w: sandbox.docker.image: %s declares volumes, which no base could hold: build it without VOLUME", sandbox.ErrSetting, d.config.Image)
	}
	return image, nil
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
