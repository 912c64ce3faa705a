package docker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
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

// TestSilentEngineHoldsNobodyUp: while an engine does not say what it can do, others who wait
// for that end with their own contexts. Nothing of it needs an engine.
func TestSilentEngineHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	at, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	silent := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/info"):
			close(asked)
			<-r.Context().Done()
		case strings.Contains(r.URL.Path, "/images/"):
			_, _ = io.WriteString(w, `{"Id":"sha256:1","Architecture":"amd64"}`)
		default:
			w.Header().Set("Api-Version", "1.44")
		}
	})}
	go func() { _ = silent.Serve(at) }()
	t.Cleanup(func() { _ = silent.Close() })
	c := docker.DefaultConfig()
	c.Host, c.ProxyDir = "unix://"+at.Addr().String(), t.TempDir()
	d, err := docker.New(c, newBook(t), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := d.Open(ctx, sandbox.Spec{Name: "a"})
		first <- err
	}()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := d.Open(ctx, sandbox.Spec{Name: "b"}); !errors.Is(err, context.DeadlineExceeded) || len(first) > 0 {
		t.Errorf("open: %v, after the first one: %v", err, len(first) > 0)
	}
	if err := silent.Close(); err != nil {
		t.Error(err)
	}
	if err := <-first; !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("the first one: %v, want ErrUnavailable", err)
	}
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
