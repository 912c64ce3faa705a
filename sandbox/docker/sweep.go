package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
)

// found is something of ours on the engine.
type found struct {
	sandbox.Info
	id    string // of a container, or of an image
	probe bool
}

// Sweep removes what keep does not want: sandboxes first, then the bases that they
// may have come from, the latest first.
func (d *Driver) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	failpoint.Hit("sandbox", "sweep", "before")
	defer failpoint.Hit("sandbox", "sweep", "after")
	all, err := d.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("sweep sandboxes: %w", d.explain(err))
	}
	failpoint.Hit("sandbox", "sweep", "listed")
	var gone []string
	var problems []error
	for _, f := range all {
		_, probing := d.probing.Load(f.Name)
		switch {
		case probing:
		case f.probe: // of a process that died
			problems = append(problems, d.sweepOne(ctx, f))
		case !keep(f.Info):
			if err := d.sweepOne(ctx, f); err != nil {
				problems = append(problems, fmt.Errorf("sweep %s: %w", f.Name, err))
				continue
			}
			if !slices.Contains(gone, f.Name) {
				gone = append(gone, f.Name)
			}
		}
	}
	return gone, errors.Join(append(problems, d.sweepProxies(ctx))...)
}

func (d *Driver) sweepOne(ctx context.Context, f found) error {
	if f.Base {
		return d.explain(d.sweepBase(ctx, f))
	}
	if h := d.living(f.Name); h != nil && h.id == f.id {
		return h.Close(ctx)
	}
	if err := d.remove(ctx, f.id); err != nil {
		return err
	}
	return d.book.Delete(f.Name)
}

// sweepBase removes a base by its name. An image that has lost the name goes with the last
// of those that were made from it, at a later Sweep.
func (d *Driver) sweepBase(ctx context.Context, f found) error {
	if image, err := d.base(ctx, f.Name); err == nil && image.id == f.id {
		return d.removeImage(ctx, d.baseName(f.Name))
	}
	return d.removeUnused(ctx, f.id)
}

// list finds everything of this deployment by its labels. What has them by
// inheritance, having been made from one of our images, has another name and is left alone.
func (d *Driver) list(ctx context.Context) ([]found, error) {
	ours := make(client.Filters).Add("label", labelDeployment+"="+d.deployment)
	var all []found
	containers, err := d.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	if err != nil {
		return nil, err
	}
	for _, c := range containers.Items {
		f := found{Info: info(c.Labels, c.Created), id: c.ID, probe: c.Labels[labelProbe] != ""}
		if slices.Contains(c.Names, "/"+d.containerName(f.Name)) {
			all = append(all, f)
		}
	}
	images, err := d.api.ImageList(ctx, client.ImageListOptions{All: true, Filters: ours})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(images.Items, func(a, b image.Summary) int { return int(b.Created - a.Created) })
	for _, i := range images.Items {
		f := found{Info: info(i.Labels, i.Created), id: i.ID}
		f.Base = true
		named := slices.DeleteFunc(slices.Clone(i.RepoTags), func(tag string) bool { return tag == "<none>:<none>" })
		if len(named) == 0 || slices.Equal(named, []string{d.baseName(f.Name)}) {
			all = append(all, f)
		}
	}
	return all, nil
}

func info(labels map[string]string, created int64) sandbox.Info {
	return sandbox.Info{Name: labels[labelName], Labels: specLabels(labels), Created: time.Unix(created, 0).UTC()}
}

// sweepProxies removes directories of proxies whose containers are gone.
func (d *Driver) sweepProxies(ctx context.Context) error {
	entries, err := os.ReadDir(d.proxyDir(""))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep proxies: %w", err)
	}
	for _, e := range entries {
		st, err := e.Info()
		if err != nil || time.Since(st.ModTime()) < probeTime { // it may be about to get its container
			continue
		}
		if _, err := d.find(ctx, e.Name()); errors.Is(err, sandbox.ErrGone) {
			_ = os.RemoveAll(d.proxyDir(e.Name()))
		}
	}
	return nil
}
