// Package sandboxtest is the conformance suite of sandbox drivers: the contract
// of package sandbox as a list of promises. Every driver's test calls [Run].
//
// A promise is a function that returns an error, not a test: so a test of the
// suite itself can show that a driver which breaks the promise is caught.
package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// Harness is a driver under test and the ground it stands on. Run fills what is
// left empty except Driver and Commands.
type Harness struct {
	Driver sandbox.Driver
	// Commands says that Exec runs real commands (bash, coreutils). Promises
	// about commands are left out where it does not.
	Commands bool
	// SecretFile is a file that this process can read and no sandbox may.
	SecretFile string
	// EnvName is a variable of this process that no command may see.
	EnvName string
	// Address is a TCP address of this host that accepts connections and that no
	// sandbox may reach.
	Address string

	names *atomic.Int64
}

// Secret is what SecretFile holds.
const Secret = "yudai-canary-7f3a"

// Promise is one sentence of the contract.
type Promise struct {
	Name string
	// Commands: it needs a driver that runs real commands.
	Commands bool
	// Needs says whether the driver claims what the promise is about; nil is always.
	Needs func(sandbox.Traits) bool
	// Check returns nil if the promise is kept.
	Check func(ctx context.Context, h *Harness) error
}

// Promises lists all of them.
func Promises() []Promise {
	var all []Promise
	all = append(all, commandPromises()...)
	all = append(all, treePromises()...)
	all = append(all, wallPromises()...)
	all = append(all, filePromises()...)
	all = append(all, lifePromises()...)
	all = append(all, forkPromises()...)
	all = append(all, launchPromises()...)
	all = append(all, socketPromises()...)
	return append(all, limitPromises()...)
}

// Applies reports whether the promise concerns this driver.
func (p Promise) Applies(h *Harness) bool {
	return (h.Commands || !p.Commands) && (p.Needs == nil || p.Needs(h.Driver.Traits()))
}

// patience is how long one promise may take, on a busy machine.
const patience = 90 * time.Second

// Run checks every promise that concerns the driver, in parallel.
func Run(t *testing.T, h Harness) {
	t.Helper()
	g := h.Ground(t)
	for _, p := range Promises() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			if !p.Applies(g) {
				t.Skip("not claimed by this driver")
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := p.Check(ctx, g); err != nil {
				t.Error(err)
			}
		})
	}
}

// Ground returns the harness with everything filled that is empty: a secret, a
// listener, a variable.
func (h Harness) Ground(t *testing.T) *Harness {
	t.Helper()
	if h.SecretFile == "" {
		h.SecretFile = filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(h.SecretFile, []byte(Secret+"\n"), 0o644); err != nil { //nolint:gosec // must be readable, so that only the sandbox hides it
			t.Fatal(err)
		}
	}
	if h.EnvName == "" {
		h.EnvName = "YUDAI_CANARY"
		if err := os.Setenv(h.EnvName, Secret); err != nil { //nolint:usetesting // must last while parallel subtests run
			t.Fatal(err)
		}
	}
	if h.Address == "" {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		h.Address = l.Addr().String()
	}
	h.names = &atomic.Int64{}
	return &h
}

// name returns a new sandbox name.
func (h *Harness) name(prefix string) string {
	return fmt.Sprintf("%s-%d-%d", prefix, os.Getpid(), h.names.Add(1))
}

// with runs a check in a fresh sandbox and closes it.
func (h *Harness) with(ctx context.Context, spec sandbox.Spec, check func(sandbox.Sandbox) error) (err error) {
	if spec.Name == "" {
		spec.Name = h.name("p")
	}
	sb, err := h.Driver.Open(ctx, spec)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { err = errors.Join(err, sb.Close(ctx)) }()
	return check(sb)
}

// fresh is with for an empty sandbox.
func (h *Harness) fresh(ctx context.Context, check func(sandbox.Sandbox) error) error {
	return h.with(ctx, sandbox.Spec{}, check)
}

// shell runs a text that must succeed and returns its merged output, trimmed.
func shell(ctx context.Context, sb sandbox.Sandbox, text string) (string, error) {
	out, res, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: text, Dir: "/"})
	if err != nil {
		return out, fmt.Errorf("run %q: %w", text, err)
	}
	if res.ExitCode != 0 {
		return out, fmt.Errorf("run %q: exit %d: %s", text, res.ExitCode, out)
	}
	return strings.TrimSpace(out), nil
}

// expect runs a text and compares its output.
func expect(ctx context.Context, sb sandbox.Sandbox, text, want string) error {
	got, err := shell(ctx, sb, text)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("run %q: got %q, want %q", text, got, want)
	}
	return nil
}

// prefixed keeps everything in a Sweep except names with the prefix.
func prefixed(prefix string) func(sandbox.Info) bool {
	return func(i sandbox.Info) bool { return !strings.HasPrefix(i.Name, prefix) }
}
