package docker_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/docker"
	"github.com/yudai-dev/yudai/sandbox/records"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
	"github.com/yudai-dev/yudai/test/dockerd"
	"github.com/yudai-dev/yudai/test/require"
)

// engine is shared by the tests of this binary; nil where there can be none.
var engine *dockerd.Engine

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	// A fuzzing worker leaves without coming back here, and the engine would live on; no
	// fuzz target needs it.
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	if dockerd.Missing() == nil && !fuzzing && !testing.Short() {
		var err error
		if engine, err = dockerd.Start(context.Background(), false); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	code := m.Run()
	if engine != nil {
		if err := engine.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// config is for tests: small limits, a private directory.
func config(t *testing.T) docker.Config {
	t.Helper()
	require.Daily(t)
	if engine == nil {
		require.Need(t, "docker", cmp.Or(dockerd.Missing(), errors.New("no engine for fuzzing")))
	}
	c := docker.DefaultConfig()
	c.Host, c.Image, c.ProxyDir = engine.Host, engine.Image, t.TempDir()
	c.Limits = sandbox.HostLimits{MemoryMiB: 512, CPUs: 1, Processes: 256, DiskMiB: 512}
	return c
}

func newBook(t *testing.T) *records.Book {
	t.Helper()
	book, err := records.Open(t.TempDir(), "docker")
	if err != nil {
		t.Fatal(err)
	}
	return book
}

// setup returns a driver of a deployment of its own, which is swept at the end.
func setup(t *testing.T) *docker.Driver {
	t.Helper()
	return driver(t, config(t), newBook(t))
}

func driver(t *testing.T, c docker.Config, book *records.Book) *docker.Driver {
	t.Helper()
	d, err := docker.New(c, book, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := d.Sweep(context.Background(), func(sandbox.Info) bool { return false }); err != nil {
			t.Errorf("sweep at the end: %v", err)
		}
	})
	return d
}

func TestPromises(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, sandboxtest.Harness{Driver: setup(t), Commands: true})
}
