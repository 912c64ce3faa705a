package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/docker"
	"github.com/yudai-dev/yudai/sandbox/e2b"
	"github.com/yudai-dev/yudai/sandbox/prime"
	"github.com/yudai-dev/yudai/sandbox/records"
	"github.com/yudai-dev/yudai/test/dockerd"
	"github.com/yudai-dev/yudai/test/e2bsim"
	"github.com/yudai-dev/yudai/test/primesim"
)

// driverSetup is a driver at work, for the rows that measure all of them.
type driverSetup struct {
	name   string
	driver sandbox.Driver
	// raw runs `true` in the sandbox the way the provider itself offers it, without the driver.
	raw  func(ctx context.Context, sb sandbox.Sandbox) error
	stop func() error
}

// distance is the way to a provider and back that the stubs add to every request.
const distance = 25 * time.Millisecond

// startDrivers starts a driver of each kind: this machine, an engine, and the stubs of the
// services, each stub in a process of its own.
func startDrivers(ctx context.Context, dir string, away time.Duration) (_ []driverSetup, err error) {
	var all []driverSetup
	defer func() {
		if err != nil {
			err = errors.Join(err, closeDrivers(all))
		}
	}()
	for _, open := range []func() (driverSetup, error){
		func() (driverSetup, error) { return localSetup(filepath.Join(dir, "local")) },
		func() (driverSetup, error) { return dockerSetup(ctx, filepath.Join(dir, "docker")) },
		func() (driverSetup, error) { return e2bSetup(ctx, filepath.Join(dir, "e2b"), away) },
		func() (driverSetup, error) { return primeSetup(ctx, filepath.Join(dir, "prime"), away) },
	} {
		v, err := open()
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

func closeDrivers(all []driverSetup) (err error) {
	for _, v := range all {
		_, swept := v.driver.Sweep(context.Background(), func(sandbox.Info) bool { return false })
		err = errors.Join(err, swept, v.stop())
	}
	return err
}

func localSetup(dir string) (driverSetup, error) {
	d, err := newDriver(dir)
	return driverSetup{name: "local", driver: d, stop: func() error { return nil }}, err
}

func dockerSetup(ctx context.Context, dir string) (driverSetup, error) {
	engine, err := dockerd.Start(ctx, false)
	if err != nil {
		return driverSetup{}, err
	}
	c := docker.DefaultConfig()
	c.Host, c.Image, c.AllowUnlimited = engine.Host, engine.Image, true
	book, err := records.Open(dir, "docker")
	if err != nil {
		return driverSetup{}, errors.Join(err, engine.Stop())
	}
	d, err := docker.New(c, book, zerolog.Nop())
	if err != nil {
		return driverSetup{}, errors.Join(err, engine.Stop())
	}
	raw := func(ctx context.Context, sb sandbox.Sandbox) error {
		id := sb.(sandbox.Placed).Place().ID
		out, err := exec.CommandContext(ctx, "docker", "-H", engine.Host, "exec", id, "/bin/bash", "-c", "true").CombinedOutput()
		if err != nil {
			return fmt.Errorf("docker exec: %w: %s", err, out)
		}
		return nil
	}
	return driverSetup{name: "docker", driver: d, raw: raw, stop: engine.Stop}, nil
}

func e2bSetup(ctx context.Context, dir string, away time.Duration) (driverSetup, error) {
	urls, stop, err := stub(ctx, "e2b", dir, away)
	if err != nil {
		return driverSetup{}, err
	}
	c := e2b.DefaultConfig()
	c.APIURL, c.SandboxURL, c.Template = urls[0], urls[1], "base"
	c.APIKeyFile = filepath.Join(dir, "key")
	book, err := records.Open(dir, "e2b")
	if err == nil {
		err = os.WriteFile(c.APIKeyFile, []byte(e2bsim.Key), 0o600)
	}
	if err != nil {
		return driverSetup{}, errors.Join(err, stop())
	}
	d, err := e2b.New(c, book, zerolog.Nop())
	return driverSetup{name: "e2b", driver: d, raw: rawE2B(urls[0], urls[1]), stop: stop}, err
}

func primeSetup(ctx context.Context, dir string, away time.Duration) (driverSetup, error) {
	urls, stop, err := stub(ctx, "prime", dir, away)
	if err != nil {
		return driverSetup{}, err
	}
	c := prime.DefaultConfig()
	c.APIURL, c.Image = urls[0], primesim.DefaultImage
	if err := os.Setenv(c.APIKeyEnv, primesim.DefaultKey); err != nil {
		return driverSetup{}, errors.Join(err, stop())
	}
	book, err := records.Open(dir, "prime")
	if err != nil {
		return driverSetup{}, errors.Join(err, stop())
	}
	d, err := prime.New(c, book, zerolog.Nop())
	return driverSetup{name: "prime", driver: d, raw: rawPrime(urls[0]), stop: stop}, err
}

// stub starts this program once more, as the stub of a service, and returns where it listens.
func stub(ctx context.Context, name, dir string, away time.Duration) (urls []string, stop func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-child", "stub "+name+" "+away.String()+" "+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() error { return errors.Join(in.Close(), cmd.Wait()) }
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start the stub of %s: %w", name, err), stop())
	}
	return strings.Fields(line), stop, nil
}

// stubChild is that process: it lives until its input ends.
func stubChild(text string, out io.Writer) error {
	words := strings.Fields(text)
	if len(words) != 4 {
		return errors.New("a stub needs a name, a distance and a directory")
	}
	away, err := time.ParseDuration(words[2])
	if err != nil {
		return err
	}
	var stop func() error
	switch words[1] {
	case "e2b":
		s, err := e2bsim.New(e2bsim.Options{Dir: words[3], Plan: e2bsim.Plan{Concurrent: 100}, Latency: away})
		if err != nil {
			return err
		}
		fmt.Fprintln(out, s.URL(), s.SandboxURL())
		stop = s.Close
	default:
		s, err := primesim.New(primesim.Options{Dir: words[3], Latency: away})
		if err != nil {
			return err
		}
		fmt.Fprintln(out, s.URL())
		stop = s.Close
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, stop())
}
