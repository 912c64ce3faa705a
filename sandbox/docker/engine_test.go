package docker_test

import (
	"context"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/sandbox/docker"
	"github.com/yudai-dev/yudai/test/dockerd"
)

// api is a client of the shared engine beside the driver's.
func api(t *testing.T, e *dockerd.Engine) *client.Client {
	t.Helper()
	cli, err := e.Client()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cli.Close() })
	return cli
}

func inspect(t *testing.T, d *docker.Driver, name string) container.InspectResponse {
	t.Helper()
	res, err := api(t, engine).ContainerInspect(t.Context(), d.ContainerName(name), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return res.Container
}

// left counts the containers and images with a deployment's label.
func left(ctx context.Context, t *testing.T, e *dockerd.Engine, deployment string) int {
	t.Helper()
	cli := api(t, e)
	f := make(client.Filters).Add("label", "yudai.deployment="+deployment)
	containers, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: f})
	if err != nil {
		t.Fatal(err)
	}
	images, err := cli.ImageList(ctx, client.ImageListOptions{All: true, Filters: f})
	if err != nil {
		t.Fatal(err)
	}
	return len(containers.Items) + len(images.Items)
}
