package docker_test

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"testing"

	"github.com/moby/moby/client"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/docker"
	"github.com/yudai-dev/yudai/sandbox/records"
)

func benchDriver(b *testing.B) *docker.Driver {
	b.Helper()
	if engine == nil {
		b.Skip("no container engine")
	}
	book, err := records.Open(b.TempDir(), "docker")
	if err != nil {
		b.Fatal(err)
	}
	c := docker.DefaultConfig()
	c.Host, c.Image, c.ProxyDir = engine.Host, engine.Image, b.TempDir()
	c.Limits.CPUs = 1
	d, err := docker.New(c, book, zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// BenchmarkExec compares a command with the raw calls of the API and with the
// docker command, in the same container.
func BenchmarkExec(b *testing.B) {
	d := benchDriver(b)
	sb, err := d.Open(b.Context(), sandbox.Spec{Name: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = sb.Close(b.Context()) }()
	b.Run("sandbox", func(b *testing.B) {
		for b.Loop() {
			if _, err := sb.Exec(b.Context(), sandbox.Command{Shell: "echo x", Stdout: io.Discard}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("api", func(b *testing.B) {
		cli, err := engine.Client()
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			id, err := cli.ExecCreate(b.Context(), d.ContainerName("bench"), client.ExecCreateOptions{AttachStdout: true, AttachStderr: true, Cmd: []string{"bash", "-c", "echo x"}})
			if err != nil {
				b.Fatal(err)
			}
			conn, err := cli.ExecAttach(b.Context(), id.ID, client.ExecAttachOptions{})
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, conn.Reader)
			conn.Close()
			if _, err := cli.ExecInspect(b.Context(), id.ID, client.ExecInspectOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("command", func(b *testing.B) {
		for b.Loop() {
			if out, err := exec.Command("docker", "-H", engine.Host, "exec", d.ContainerName("bench"), "bash", "-c", "echo x").CombinedOutput(); err != nil {
				b.Fatal(err, string(out))
			}
		}
	})
}

// BenchmarkOpen opens and closes one sandbox, and sixteen at once from one base.
func BenchmarkOpen(b *testing.B) {
	d := benchDriver(b)
	n := 0
	b.Run("fresh", func(b *testing.B) {
		for b.Loop() {
			n++
			sb, err := d.Open(b.Context(), sandbox.Spec{Name: fmt.Sprint("fresh-", n)})
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			_ = sb.Close(b.Context())
			b.StartTimer()
		}
	})
	sb, err := d.Open(b.Context(), sandbox.Spec{Name: "base"})
	if err != nil {
		b.Fatal(err)
	}
	base, err := d.Freeze(b.Context(), sb)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("sixteen forks", func(b *testing.B) {
		for b.Loop() {
			var all sync.WaitGroup
			var boxes [16]sandbox.Sandbox
			for i := range boxes {
				n++
				name := fmt.Sprint("fork-", n)
				all.Go(func() {
					var err error
					if boxes[i], err = d.Open(b.Context(), sandbox.Spec{Name: name, From: base}); err != nil {
						b.Error(err)
					}
				})
			}
			all.Wait()
			b.StopTimer()
			for _, sb := range boxes {
				_ = sb.Close(b.Context())
			}
			b.StartTimer()
		}
	})
	_ = d.Thaw(b.Context(), base)
}
