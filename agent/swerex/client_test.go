package swerex_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/localtest"
	"github.com/yudai-dev/yudai/test/require"
	"github.com/yudai-dev/yudai/test/toolcache"
)

var update = flag.Bool("update", false, "record client/real.golden from the official server")

// differs are the steps in which this endpoint means to be better than the original.
var differs = map[string]string{
	"deaf command": `"freed"`, // one that ignores an interrupt is killed; the original gives up
}

// TestClient drives the endpoint in front of a real sandbox with the official client.
// Every step has to come to what it comes to at the official server.
func TestClient(t *testing.T) {
	t.Parallel()
	require.Long(t)
	p := official(t)
	if *update {
		p.record(t)
	}
	want, err := os.ReadFile("client/real.golden")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(want), "\n")
	for i, line := range lines {
		name, _, _ := strings.Cut(line, ": ")
		if d, ok := differs[name]; ok {
			lines[i] = name + ": " + d + "\n"
		}
	}
	s, address := serve(t, localtest.Open(t, sandbox.Spec{Name: "rex", Launch: true}))
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	got := p.steps(t, u.Port(), "/workspace/keep")
	if d := cmp.Diff(lines, strings.SplitAfter(got, "\n")); d != "" {
		t.Errorf("-official server +this endpoint:\n%s", d)
	}
	if err := s.Failure(); err != nil {
		t.Error(err)
	}
}

// python is the programs' directory of an environment with the official client and server.
type python string

func official(t *testing.T) python {
	t.Helper()
	bin, err := toolcache.Venv(t.Context(), "swerex", toolcache.Lock{File: "client/requirements.txt", Options: []string{"--only-binary=:all:"}})
	require.Need(t, "pip", err)
	return python(bin)
}

// command is a program of the environment, with an empty home.
func (p python) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, filepath.Join(string(p), args[0]), args[1:]...)
	c.Dir = t.TempDir()
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + c.Dir, "LANG=C.UTF-8", "NO_PROXY=*"}
	return c
}

// steps runs the script against an endpoint and returns what it saw.
func (p python) steps(t *testing.T, port, there string) string {
	t.Helper()
	script, err := filepath.Abs("client/steps.py")
	if err != nil {
		t.Fatal(err)
	}
	out := &strings.Builder{}
	c := p.command(t, "python", script, port, token, there, t.TempDir())
	c.Stderr = out // the client prints on stdout
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out.String()
}

// record runs the script against the official server.
func (p python) record(t *testing.T) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	server := p.command(t, "swerex-remote", "--auth-token", token, "--host", "127.0.0.1", "--port", port)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	seen := p.steps(t, port, t.TempDir())
	if err := errors.Join(server.Process.Kill(), os.WriteFile("client/real.golden", []byte(seen), 0o600)); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
}
