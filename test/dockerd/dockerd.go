// Package dockerd starts a container engine of its own for tests and benchmarks:
// private directories, a unix socket, no bridge, no firewall rule, no registry,
// and one image made of programs of this machine. Nothing of it is left when it stops.
package dockerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"
)

// Engine is one running engine.
type Engine struct {
	// Host is its address, unix:///...
	Host string
	// Image is the name of the image with the machine's programs.
	Image string

	dir        string
	containerd *program // runs containers; it survives Kill
	engine     *program // nil while the engine is down
}

// patience is how long the engine may take to answer, on a busy machine.
const patience = 60 * time.Second

// Missing says why no engine can be started here; nil if one can.
func Missing() error {
	if os.Geteuid() != 0 {
		return errors.New("a container engine needs root")
	}
	for _, program := range []string{"dockerd", "containerd", "runc", "/usr/bin/git", "/usr/bin/python3"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("find a program of the engine: %w", err)
		}
	}
	return nil
}

// Start starts an engine with an empty store and imports the image. The Go
// toolchain of this machine is part of it where withGo is set, which costs a few seconds.
func Start(ctx context.Context, withGo bool) (*Engine, error) {
	if err := Missing(); err != nil {
		return nil, fmt.Errorf("start a container engine: %w", err)
	}
	dir, err := os.MkdirTemp("", "yudai-dockerd-")
	if err != nil {
		return nil, fmt.Errorf("start a container engine: %w", err)
	}
	e := &Engine{Host: "unix://" + filepath.Join(dir, "sock"), Image: "yudai/test:1", dir: dir}
	err = e.Launch(ctx)
	if err == nil {
		err = e.importImage(ctx, withGo)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a container engine: %w", err), e.Stop())
	}
	return e, nil
}

// Launch starts the engine's process: again, after Kill. Its store is as it was.
func (e *Engine) Launch(ctx context.Context) (err error) {
	if e.engine != nil {
		return errors.New("the engine runs")
	}
	in := func(name string) string { return filepath.Join(e.dir, name) }
	if e.containerd == nil {
		settings := "version = 2\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n"
		if err := os.WriteFile(in("containerd.toml"), []byte(settings), 0o600); err != nil {
			return fmt.Errorf("write the settings of containerd: %w", err)
		}
		e.containerd, err = run(in("log"), "containerd", "--config", in("containerd.toml"), "--root", in("containers"), "--state", in("state"), "--address", in("containerd.sock"))
		if err != nil {
			return err
		}
	}
	if err := os.WriteFile(in("none.json"), []byte("{}\n"), 0o600); err != nil {
		return fmt.Errorf("write the engine's settings: %w", err)
	}
	if err := os.Remove(in("pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the engine's pid: %w", err)
	}
	// Without ip-forward=false the engine turns forwarding on in this machine.
	e.engine, err = run(in("log"), "dockerd", "--config-file", in("none.json"), "--data-root", in("data"), "--exec-root", in("exec"), "--pidfile", in("pid"),
		"-H", e.Host, "--containerd", in("containerd.sock"), "--bridge=none", "--iptables=false", "--ip-masq=false", "--ip-forward=false")
	if err != nil {
		return err
	}
	return e.await(ctx)
}

// await waits until the engine answers.
func (e *Engine) await(ctx context.Context) error {
	cli, err := e.Client()
	if err != nil {
		return err
	}
	defer func() { _ = cli.Close() }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err = cli.Ping(ctx, client.PingOptions{}); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-e.engine.ended:
		case <-tick.C:
			continue
		}
		return fmt.Errorf("the engine does not answer: %w\n%s", err, e.Log())
	}
}

// Client returns a client of the engine; the caller closes it.
func (e *Engine) Client() (*client.Client, error) {
	cli, err := client.New(client.WithHost(e.Host))
	if err != nil {
		return nil, fmt.Errorf("make a client of the engine: %w", err)
	}
	return cli, nil
}

// Log is the end of what the engine said.
func (e *Engine) Log() string {
	data, _ := os.ReadFile(filepath.Join(e.dir, "log"))
	if over := len(data) - 4000; over > 0 {
		data = data[over:]
	}
	return strings.TrimSpace(string(data))
}

// Kill ends the engine's process at once, as a crash of it would; containers run
// on until Launch starts it again.
func (e *Engine) Kill() {
	if e.engine != nil {
		e.engine.end(syscall.SIGKILL)
		e.engine = nil
	}
}

// Pause holds the engine up: it answers nobody until Continue.
func (e *Engine) Pause() error { return e.engine.Process.Signal(syscall.SIGSTOP) }

// Continue lets a paused engine go on.
func (e *Engine) Continue() error { return e.engine.Process.Signal(syscall.SIGCONT) }

// Stop removes all containers, ends the engine and removes its files.
func (e *Engine) Stop() error {
	if e.engine != nil {
		e.clear()
		e.engine.end(syscall.SIGTERM)
		e.engine = nil
	}
	if e.containerd != nil {
		e.containerd.end(syscall.SIGTERM)
		e.containerd = nil
	}
	e.endRest()
	if err := e.unmount(); err != nil {
		return err
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return fmt.Errorf("remove the engine's files: %w", err)
	}
	return nil
}

// clear removes the containers, so that the engine stops at once.
func (e *Engine) clear() {
	cli, err := e.Client()
	if err != nil {
		return
	}
	defer func() { _ = cli.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	all, _ := cli.ContainerList(ctx, client.ContainerListOptions{All: true})
	for _, c := range all.Items {
		_, _ = cli.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true})
	}
}

// endRest ends what a killed engine left: the shims of its containers.
func (e *Engine) endRest() {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, at := range found {
		line, err := os.ReadFile(at)
		if err != nil || !strings.Contains(string(line), e.dir+"/") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(at, "/proc/%d/", &pid); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// unmount frees the engine's directory; it leaves one or more mounts there.
func (e *Engine) unmount() error {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("read mounts: %w", err)
	}
	lines := strings.Split(string(data), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if f := strings.Fields(lines[i]); len(f) > 4 && strings.HasPrefix(f[4], e.dir+"/") {
			if err := syscall.Unmount(f[4], syscall.MNT_DETACH); err != nil {
				return fmt.Errorf("unmount %s: %w", f[4], err)
			}
		}
	}
	return nil
}
