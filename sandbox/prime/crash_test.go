package prime_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/prime"
	"github.com/yudai-dev/yudai/test/primesim"
)

// death is a transport in which the process dies at one call: what lies on its disk
// at that moment is copied, and nothing goes through any more.
type death struct {
	at      int  // the call, from 1
	effect  bool // whether the call is carried out; its answer is lost in any case
	dir, to string
	died    context.CancelFunc

	mu   sync.Mutex
	n    int
	dead bool
	err  error
}

var errDead = errors.New("the process is dead")

func (d *death) wrap(next http.RoundTripper) http.RoundTripper { return mortal{d, next} }

type mortal struct {
	*death
	next http.RoundTripper
}

func (m mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	m.n++
	dies := m.n == m.at && !m.dead
	m.dead = m.dead || dies
	dead := m.dead
	if dies {
		m.err = os.CopyFS(m.to, os.DirFS(m.dir))
	}
	m.mu.Unlock()
	if !dead {
		return m.next.RoundTrip(r)
	}
	if dies && m.effect {
		if res, err := m.next.RoundTrip(r); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}
	m.died()
	if r.Body != nil {
		r.Body.Close()
	}
	return nil, errDead
}

// lives are what a process does with sandboxes until it dies.
func lives() map[string]func(ctx context.Context, d *prime.TestDriver) error {
	one := sandbox.Network{Allow: []string{"one.example.org"}}
	return map[string]func(ctx context.Context, d *prime.TestDriver) error{
		"open, restrict, close": func(ctx context.Context, d *prime.TestDriver) error {
			sb, err := d.Open(ctx, sandbox.Spec{Name: "a", Network: one})
			if err != nil {
				return err
			}
			return errors.Join(sb.(sandbox.Egress).Restrict(ctx, sandbox.Network{}), sb.Close(ctx))
		},
		"freeze, open from, thaw": func(ctx context.Context, d *prime.TestDriver) error {
			sb, err := d.Open(ctx, sandbox.Spec{Name: "base"})
			if err != nil {
				return err
			}
			base, err := d.Freeze(ctx, sb)
			if err != nil {
				return err
			}
			fork, err := d.Open(ctx, sandbox.Spec{Name: "a", From: base})
			if err != nil {
				return err
			}
			return errors.Join(fork.Close(ctx), d.Thaw(ctx, base))
		},
	}
}

// each kills a life at every call, with or without its effect, and looks at what the next process makes of it.
func each(t *testing.T, effects []bool, next func(t *testing.T, s *primesim.Server, d *prime.TestDriver)) {
	t.Helper()
	for what, life := range lives() {
		for _, effect := range effects {
			if !effect && strings.HasPrefix(what, "freeze") {
				continue // long, and hardly other than death one call earlier
			}
			name := what + ", the last call is not carried out"
			if effect {
				name = what + ", the last call is carried out"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := service(t, primesim.Options{Provision: 10 * time.Millisecond, Apply: 10 * time.Millisecond, Durable: 30 * time.Millisecond})
				for at := 1; ; at++ {
					if done := die(t, s, at, effect, life, next); done {
						if at < 8 {
							t.Errorf("only %d calls: is everything counted?", at-1)
						}
						return
					}
					if t.Failed() {
						t.Fatalf("after death at call %d", at)
					}
				}
			})
		}
	}
}

// die reports whether the life was lived to its end.
func die(t *testing.T, s *primesim.Server, at int, effect bool, life func(context.Context, *prime.TestDriver) error,
	next func(*testing.T, *primesim.Server, *prime.TestDriver)) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	x := &death{at: at, effect: effect, dir: dir, to: filepath.Join(t.TempDir(), "copy"), died: cancel}
	d := driver(t, s.URL(), dir)
	d.Through(x.wrap)
	err := life(ctx, d)
	if !x.dead {
		if err != nil {
			t.Errorf("without death: %v", err)
		}
		nothingBilled(t, s)
		return true
	}
	if x.err != nil {
		t.Fatal(x.err)
	}
	next(t, s, driver(t, s.URL(), x.to))
	nothingBilled(t, s)
	if left, err := filepath.Glob(filepath.Join(x.to, "prime", "*.json")); err != nil || len(left) > 0 {
		t.Errorf("notes left: %q, %v", left, err)
	}
	return false
}

// TestDeathAtAnyCallThenSweep: whatever the process was doing, the next one's sweep leaves nothing that costs money.
func TestDeathAtAnyCallThenSweep(t *testing.T) {
	t.Parallel()
	requireMachines(t)
	each(t, []bool{true, false}, func(t *testing.T, _ *primesim.Server, d *prime.TestDriver) {
		t.Helper()
		if _, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return false }); err != nil {
			t.Errorf("sweep: %v", err)
		}
	})
}

// TestDeathAtAnyCallThenOn: or it attaches, and what was never opened to its end is
// in nobody's way.
func TestDeathAtAnyCallThenOn(t *testing.T) {
	t.Parallel()
	requireMachines(t)
	each(t, []bool{true}, func(t *testing.T, _ *primesim.Server, d *prime.TestDriver) {
		t.Helper()
		ctx := t.Context()
		for _, name := range []string{"a", "base"} {
			sb, err := d.Attach(ctx, name)
			if err == nil {
				if _, err = sb.Exec(ctx, sandbox.Command{Shell: "true"}); err == nil {
					err = sb.Close(ctx)
				}
			}
			if err != nil && !errors.Is(err, sandbox.ErrGone) {
				t.Errorf("attach %s: %v", name, err)
			}
			if d.HasBase(ctx, name) {
				fork, err := d.Open(ctx, sandbox.Spec{Name: "fork", From: name})
				if err != nil {
					t.Errorf("open from the base that is there: %v", err)
					continue
				}
				if err := fork.Close(ctx); err != nil {
					t.Error(err)
				}
			}
			if err := d.Thaw(ctx, name); err != nil {
				t.Errorf("thaw %s: %v", name, err)
			}
		}
		sb, err := d.Open(ctx, sandbox.Spec{Name: "base"})
		if err != nil {
			t.Errorf("open again: %v", err)
			return
		}
		if err := sb.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestLaggingList: a sandbox whose making got no answer, and which the service's list
// does not show yet, is found by asking once more with the same key.
func TestLaggingList(t *testing.T) {
	t.Parallel()
	s := service(t, primesim.Options{})
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x := &death{at: 1, effect: true, dir: dir, to: filepath.Join(t.TempDir(), "copy"), died: cancel}
	d := driver(t, s.URL(), dir)
	d.Through(x.wrap)
	if _, err := d.Open(ctx, sandbox.Spec{Name: "a"}); err == nil || len(s.Billed()) != 1 {
		t.Fatalf("open: %v, billed %q", err, s.Billed())
	}
	next := driver(t, s.URL(), x.to)
	next.Through(func(rt http.RoundTripper) http.RoundTripper {
		return forgetful{rt}
	})
	gone, err := next.Sweep(t.Context(), func(sandbox.Info) bool { return false })
	if err != nil || len(gone) != 1 {
		t.Errorf("swept %q, %v", gone, err)
	}
	nothingBilled(t, s)
}

// forgetful is a transport to a service whose list is empty.
type forgetful struct{ next http.RoundTripper }

func (f forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && r.URL.Path == "/api/v1/sandbox" {
		return handler(func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, `{"sandboxes":[]}`) }).RoundTrip(r)
	}
	return f.next.RoundTrip(r)
}

// TestDeathAfterFreeze: as soon as the sandbox of a base is deleted, the base is there.
func TestDeathAfterFreeze(t *testing.T) {
	t.Parallel()
	s := service(t, primesim.Options{})
	for at := 1; ; at++ {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		x := &death{at: at, effect: true, dir: dir, to: filepath.Join(t.TempDir(), "copy"), died: cancel}
		d := driver(t, s.URL(), dir)
		sb, err := d.Open(ctx, sandbox.Spec{Name: "base"})
		if err != nil {
			t.Fatal(err)
		}
		d.Through(x.wrap)
		_, _ = d.Freeze(ctx, sb)
		cancel()
		if !x.dead {
			x.to = dir
		}
		next := driver(t, s.URL(), x.to)
		if has := next.HasBase(t.Context(), "base"); !has && len(s.Billed()) == 0 {
			t.Errorf("death at call %d: neither sandbox nor base", at)
		}
		if _, err := next.Sweep(t.Context(), func(sandbox.Info) bool { return false }); err != nil {
			t.Error(err)
		}
		nothingBilled(t, s)
		if !x.dead {
			return
		}
	}
}

// TestNotesOfTheVersionBefore: a sandbox and a base that an earlier version noted in
// its form are attached to, opened from and swept.
func TestNotesOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	s := service(t, primesim.Options{})
	dir := t.TempDir()
	d := driver(t, s.URL(), dir)
	base, err := d.Freeze(t.Context(), open(t, d, sandbox.Spec{Name: "base"}))
	if err != nil {
		t.Fatal(err)
	}
	open(t, d, sandbox.Spec{Name: "a"})
	for _, name := range []string{"base", "a"} {
		n, err := d.Journal().Read(name)
		if err != nil {
			t.Fatal(err)
		}
		memo, err := json.Marshal(map[string]any{
			"stage": n.Stage, "request": n.Request, "owner": n.Owner, "allow": n.Allow, "user": n.User, "checkpoint": n.Snapshot, "disk_gb": n.DiskGB,
		})
		n.More = map[string]string{"prime": string(memo)}
		if err := errors.Join(err, book(t, dir).Put(n.Record)); err != nil {
			t.Fatal(err)
		}
	}
	next := driver(t, s.URL(), dir)
	if sb, err := next.Attach(t.Context(), "a"); err != nil || !next.HasBase(t.Context(), base) {
		t.Errorf("attach: %v", err)
	} else if res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "exit 4"}); err != nil || res.ExitCode != 4 {
		t.Errorf("%+v, %v", res, err)
	}
	open(t, next, sandbox.Spec{Name: "copy", From: base})
	if gone, err := driver(t, s.URL(), dir).Sweep(t.Context(), func(sandbox.Info) bool { return false }); err != nil || len(gone) != 3 {
		t.Errorf("swept %q, %v", gone, err)
	}
	nothingBilled(t, s)
}
