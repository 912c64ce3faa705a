package prime_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/prime"
	"github.com/yudai-dev/yudai/sandbox/records"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
	"github.com/yudai-dev/yudai/test/machine"
	"github.com/yudai-dev/yudai/test/primesim"
	"github.com/yudai-dev/yudai/test/require"
)

// keyEnv is a variable that holds the stub's key, and nothing else.
const keyEnv = "YUDAI_TEST_PRIME_KEY"

func TestMain(m *testing.M) {
	if err := os.Setenv(keyEnv, primesim.DefaultKey); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// requireMachines skips the test where machines cannot run, and fails it where they must.
func requireMachines(t *testing.T) {
	t.Helper()
	require.Machines(t, machine.Supported())
}

// service starts the stub.
func service(t *testing.T, o primesim.Options) *primesim.Server {
	t.Helper()
	requireMachines(t)
	o.Dir = t.TempDir()
	s, err := primesim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the stub: %v", err)
		}
	})
	return s
}

// config is for a service at an address.
func config(url string) prime.Config {
	c := prime.DefaultConfig()
	c.APIKeyEnv, c.APIURL, c.Image = keyEnv, url, primesim.DefaultImage
	return c
}

// book opens records below a directory.
func book(t *testing.T, dir string) *records.Book {
	t.Helper()
	b, err := records.Open(dir, "prime")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// driver makes an impatient driver on the records in dir.
func driver(t *testing.T, url, dir string, change ...func(*prime.Config)) *prime.TestDriver {
	t.Helper()
	c := config(url)
	for _, f := range change {
		f(&c)
	}
	d, err := prime.NewTest(c, book(t, dir), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	d.Hurry()
	return d
}

// setup is a stub and a driver; in the end nothing may be left that costs money.
func setup(t *testing.T, o primesim.Options, change ...func(*prime.Config)) (*primesim.Server, *prime.TestDriver) {
	t.Helper()
	s := service(t, o)
	d := driver(t, s.URL(), t.TempDir(), change...)
	t.Cleanup(func() {
		if _, err := d.Sweep(context.Background(), func(sandbox.Info) bool { return false }); err != nil {
			t.Errorf("sweep at the end: %v", err)
		}
		nothingBilled(t, s)
	})
	return s, d
}

func nothingBilled(t *testing.T, s *primesim.Server) {
	t.Helper()
	if b, c := s.Billed(), s.Stored(); len(b)+len(c) > 0 {
		t.Errorf("still billed: sandboxes %q, checkpoints %q", b, c)
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	_, d := setup(t, primesim.Options{})
	sandboxtest.Run(t, sandboxtest.Harness{Driver: d, Commands: true})
}

func TestPromisesWithoutCheckpoints(t *testing.T) {
	t.Parallel()
	_, d := setup(t, primesim.Options{NoCheckpoints: true, NoBatch: true})
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "first"})
	if err != nil {
		t.Fatal(err)
	}
	if !d.Traits().Fork {
		t.Error("no fork before anybody was asked")
	}
	if _, err := d.Freeze(t.Context(), sb); !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("freeze: %v, want ErrUnsupported", err)
	}
	if res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "exit 3"}); err != nil || res.ExitCode != 3 {
		t.Errorf("the sandbox that was not frozen: %+v, %v", res, err)
	}
	if d.Traits().Fork || d.HasBase(t.Context(), "first") {
		t.Error("forks are promised that there are not")
	}
	sandboxtest.Run(t, sandboxtest.Harness{Driver: d, Commands: true})
}
