package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/docker"
)

func TestDefaultConfigIsValid(t *testing.T) {
	t.Parallel()
	docker.DefaultConfig().Validate(func(key, problem string) { t.Errorf("%s: %s", key, problem) })
}

func TestValidateReportsEveryKey(t *testing.T) {
	t.Parallel()
	c := docker.Config{Host: "ssh://there", Image: "Yudai Sandbox", Runtime: "a b", AllowPrivate: []string{"10.0.0.0/8", "10.0.0.1"}, USDPerHour: math.NaN()}
	var got []string
	c.Validate(func(key, _ string) { got = append(got, key) })
	want := []string{
		"host", "image", "runtime", "uid", "proxy_dir", "allow_private.1", "usd_per_hour",
		"limits.memory_mib", "limits.cpus", "limits.processes", "limits.disk_mib",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := docker.New(c, newBook(t), zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "sandbox.docker.limits.cpus") {
		t.Errorf("New: %v, want the keys", err)
	}
	for _, host := range []string{"", "unix:///run/docker.sock", "tcp://10.0.0.1:2376"} {
		c := docker.DefaultConfig()
		c.Host = host
		c.Validate(func(key, problem string) { t.Errorf("%s: %s: %s", host, key, problem) })
	}
}

// problem is what Check and Open say about a configuration.
func problem(t *testing.T, c docker.Config, spec sandbox.Spec) error {
	t.Helper()
	d := driver(t, c, newBook(t))
	spec.Name = "bad"
	sb, err := d.Open(t.Context(), spec)
	if err == nil {
		_ = sb.Close(t.Context())
	} else if check := d.Check(t.Context()); check == nil && spec.Limits == (sandbox.Limits{}) {
		t.Errorf("Check finds nothing, but Open says %v", err)
	}
	return err
}

func TestMessagesNameTheSetting(t *testing.T) {
	t.Parallel()
	c := config(t)
	importTar(t, "yudai/bare:1", "bin/", "etc/")
	importTar(t, "yudai/volume:1", "bin/", "VOLUME /data")
	withoutGit(t, "yudai/gitless:1")
	for _, row := range []struct {
		what   string
		change func(*docker.Config)
		spec   sandbox.Spec
		is     error
		says   []string
	}{
		{"image", func(c *docker.Config) { c.Image = "yudai/none:1" }, sandbox.Spec{}, sandbox.ErrSetting, []string{"sandbox.docker.image", "yudai/none:1", "make docker-image"}},
		{"bash", func(c *docker.Config) { c.Image = "yudai/bare:1" }, sandbox.Spec{}, sandbox.ErrSetting, []string{"sandbox.docker.image yudai/bare:1", "bash", "make docker-image"}},
		{"git", func(c *docker.Config) { c.Image = "yudai/gitless:1" }, sandbox.Spec{}, sandbox.ErrSetting, []string{"sandbox.docker.image yudai/gitless:1", "git"}},
		{"volume", func(c *docker.Config) { c.Image = "yudai/volume:1" }, sandbox.Spec{}, sandbox.ErrSetting, []string{"sandbox.docker.image", "VOLUME"}},
		{"runtime", func(c *docker.Config) { c.Runtime = "kata" }, sandbox.Spec{}, sandbox.ErrSetting, []string{"sandbox.docker.runtime", "kata", "runc"}},
		{"cpus", func(c *docker.Config) { c.Limits.CPUs = 5000 }, sandbox.Spec{}, sandbox.ErrLimit, []string{"sandbox.docker.limits.cpus", "5000"}},
		{"memory", func(c *docker.Config) { c.Limits.MemoryMiB = 1 << 29 }, sandbox.Spec{}, sandbox.ErrLimit, []string{"sandbox.docker.limits.memory_mib"}},
		{"spec", func(*docker.Config) {}, sandbox.Spec{Limits: sandbox.Limits{CPUs: 5000}}, sandbox.ErrLimit, []string{"the sandbox's limit", "5000"}},
	} {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			c := c
			row.change(&c)
			err := problem(t, c, row.spec)
			if !errors.Is(err, row.is) {
				t.Errorf("error %v", err)
			}
			for _, part := range row.says {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
		})
	}
}

// importTar makes an image of empty directories; a word in capitals begins a setting of it.
func importTar(t *testing.T, name string, entries ...string) {
	t.Helper()
	var buf bytes.Buffer
	var changes []string
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		if !strings.HasSuffix(e, "/") {
			changes = append(changes, e)
			continue
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: e, Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	res, err := api(t, engine).ImageImport(t.Context(), client.ImageImportSource{Source: &buf, SourceName: "-"}, name, client.ImageImportOptions{Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res)
	_ = res.Close()
}

// withoutGit makes an image that lacks one program.
func withoutGit(t *testing.T, name string) {
	t.Helper()
	cli := api(t, engine)
	c, err := cli.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config:     &container.Config{Image: engine.Image, Cmd: []string{"rm", "/usr/bin/git"}},
		HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := cli.ContainerWait(t.Context(), c.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := cli.ContainerStart(t.Context(), c.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended.Result:
	case err := <-ended.Error:
		t.Fatal(err)
	}
	if _, err := cli.ContainerCommit(t.Context(), c.ID, client.ContainerCommitOptions{Reference: name}); err != nil {
		t.Fatal(err)
	}
	if _, err := cli.ContainerRemove(t.Context(), c.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
}

// TestNoEngine: whoever has no engine, or may not use it, is told what to do. Nothing
// of it needs an engine.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	c := docker.DefaultConfig()
	c.Host, c.ProxyDir = "unix://"+filepath.Join(t.TempDir(), "none"), t.TempDir()
	d, err := docker.New(c, newBook(t), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	_, opened := d.Open(t.Context(), sandbox.Spec{Name: "a"})
	_, swept := d.Sweep(t.Context(), func(sandbox.Info) bool { return true })
	for what, err := range map[string]error{"check": d.Check(t.Context()), "open": opened, "sweep": swept} {
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "sandbox.docker.host") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if d.HasBase(t.Context(), "a") {
		t.Error("there is a base without an engine")
	}
	if tr := d.Traits(); tr.Name != "docker" || len(tr.Notes) != 1 || !tr.Fork {
		t.Errorf("traits %+v", tr)
	}
	refused := fmt.Errorf("permission denied while trying to connect: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)})
	if err := d.Explain(refused); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "group docker") {
		t.Errorf("without permission: %v", err)
	}
	if err := d.Explain(errors.New("write /x: no space left on device")); !errors.Is(err, sandbox.ErrCapacity) {
		t.Errorf("a full disk: %v", err)
	}
	if err := d.Explain(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who gave up: %v", err)
	}
}
