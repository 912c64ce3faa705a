package simulation_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// host is the machine that the sandboxes are on: it outlives every process, and
// is as strict as a real driver about bases that are still stood on.
type host struct {
	*fakesandbox.Driver
	mu    sync.Mutex
	from  map[string]string // base of each sandbox and of each base
	bases map[string]bool
}

func newHost() *host {
	return &host{Driver: fakesandbox.New(answerCommand), from: map[string]string{}, bases: map[string]bool{}}
}

// leftovers are the sandboxes and bases there are.
func (h *host) leftovers() []string {
	out := h.OpenNames()
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range h.bases {
		if h.HasBase(context.Background(), name) {
			out = append(out, name)
		}
	}
	return out
}

// standing names something that is open or frozen on top of the base.
func (h *host) standing(base string) string {
	for _, name := range h.leftovers() {
		h.mu.Lock()
		from := h.from[name]
		h.mu.Unlock()
		if from == base && name != base {
			return name
		}
	}
	return ""
}

// tenant is the host as one process sees it.
type tenant struct {
	*host
	gate *gate
	mut  mutation
}

var (
	_ sandbox.Driver = (*tenant)(nil)
	_ sandbox.Forker = (*tenant)(nil)
)

// handle is a process's hold on a sandbox.
type handle struct {
	*fakesandbox.Sandbox
	gate *gate
}

func (t *tenant) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	return made(t.gate, "open "+short(spec.Name), func() (sandbox.Sandbox, error) {
		sb, err := t.Driver.Open(ctx, spec)
		if err != nil {
			return nil, err
		}
		t.host.mu.Lock()
		defer t.host.mu.Unlock()
		t.from[spec.Name] = spec.From
		return &handle{sb.(*fakesandbox.Sandbox), t.gate}, nil
	})
}

func (t *tenant) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	if t.mut == mutAdopt {
		return nil, fmt.Errorf("attach %s: %w", name, sandbox.ErrGone)
	}
	return made(t.gate, "attach "+short(name), func() (sandbox.Sandbox, error) {
		sb, err := t.Driver.Attach(ctx, name)
		if err != nil {
			return nil, err
		}
		return &handle{sb.(*fakesandbox.Sandbox), t.gate}, nil
	})
}

func (t *tenant) Freeze(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	return made(t.gate, "freeze "+short(sb.Name()), func() (string, error) {
		name, err := t.Driver.Freeze(ctx, sb.(*handle).Sandbox)
		t.host.mu.Lock()
		defer t.host.mu.Unlock()
		t.bases[name] = true
		return name, err
	})
}

func (t *tenant) Thaw(ctx context.Context, base string) error {
	return t.gate.may("thaw "+short(base), func() (bool, error) {
		if other := t.standing(base); other != "" {
			return false, fmt.Errorf("thaw base %s: still used by %s", base, other)
		}
		return t.HasBase(ctx, base), t.Driver.Thaw(ctx, base)
	})
}

func (t *tenant) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	if t.mut == mutSweep {
		return nil, nil
	}
	if err := t.gate.read(func() error { return nil }); err != nil {
		return nil, err
	}
	swept, err := t.Driver.Sweep(ctx, keep) // asks the store, which passes the gate
	if len(swept) > 0 {
		err = t.gate.may("sweep", func() (bool, error) { return true, err })
	}
	return swept, err
}

func (h *handle) Exec(ctx context.Context, c sandbox.Command) (res sandbox.Result, err error) {
	name := fmt.Sprintf("command %s in %s", word(c), short(h.Name()))
	err = h.gate.around(name, func() (err error) {
		res, err = h.Sandbox.Exec(ctx, c)
		return err
	})
	return res, err
}

func (h *handle) Put(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error {
	return h.gate.pass("put "+short(h.Name()), func() error { return h.Sandbox.Put(ctx, path, r, mode) })
}

func (h *handle) Close(ctx context.Context) error {
	return h.gate.pass("close "+short(h.Name()), func() error { return h.Sandbox.Close(ctx) })
}

// short is a sandbox's name without the solve.
func short(name string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(name, "y-"), "-")
	return rest
}

// kindOf is an effect's key without the solve.
func kindOf(key string) string {
	_, kind, _ := strings.Cut(key, "/")
	return kind
}
