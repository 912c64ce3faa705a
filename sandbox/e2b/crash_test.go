package e2b

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/test/e2bsim"
)

var errDead = errors.New("the process is dead")

// dying is a way to the service on which the process dies at one request, before
// it is sent or when its answer comes. What its disk had then is copied.
type dying struct {
	next http.RoundTripper
	book string
	copy string

	mu     sync.Mutex
	armed  bool
	nth    int // the request at which it dies
	sent   bool
	seen   int
	dead   bool
	failed error
}

// arm lets it die at the nth request from now on, or with its answer.
func (d *dying) arm(nth int, sent bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed, d.nth, d.sent = true, nth, sent
}

func (d *dying) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return nil, errDead
	}
	if d.armed {
		d.seen++
	}
	if !d.armed || d.seen < d.nth {
		d.mu.Unlock()
		defer d.mu.Lock()
		return d.next.RoundTrip(r)
	}
	d.dead = true
	if d.sent {
		if resp, err := d.next.RoundTrip(r); err == nil {
			_ = resp.Body.Close()
		}
	}
	d.failed = os.CopyFS(d.copy, os.DirFS(d.book))
	return nil, errDead
}

// TestNothingIsBilledAfterACrash lets the process die at every request of every
// way to get, change and lose a sandbox, sent or not, and looks at what the next
// process finds to end: everything that costs money.
func TestNothingIsBilledAfterACrash(t *testing.T) {
	t.Parallel()
	type scene struct {
		prepare func(ctx context.Context, d *testDriver) sandbox.Sandbox // before it may die
		act     func(ctx context.Context, d *testDriver, sb sandbox.Sandbox)
	}
	fresh := func(ctx context.Context, d *testDriver) sandbox.Sandbox {
		sb, err := d.Open(ctx, sandbox.Spec{Name: "a"})
		if err != nil {
			t.Error(err)
		}
		return sb
	}
	base := func(ctx context.Context, d *testDriver) sandbox.Sandbox {
		sb := fresh(ctx, d)
		if _, err := d.Freeze(ctx, sb); err != nil {
			t.Error(err)
		}
		return sb
	}
	for name, s := range map[string]scene{
		"open": {nil, func(ctx context.Context, d *testDriver, _ sandbox.Sandbox) {
			_, _ = d.Open(ctx, sandbox.Spec{Name: "a"})
		}},
		"restrict and close": {fresh, func(ctx context.Context, _ *testDriver, sb sandbox.Sandbox) {
			_ = sb.(sandbox.Egress).Restrict(ctx, sandbox.Network{Allow: []string{"a.example"}})
			_ = sb.Close(ctx)
		}},
		"freeze and thaw": {fresh, func(ctx context.Context, d *testDriver, sb sandbox.Sandbox) {
			_, _ = d.Freeze(ctx, sb)
			_ = d.Thaw(ctx, "a")
		}},
		"forks": {base, func(ctx context.Context, d *testDriver, _ sandbox.Sandbox) {
			var wait sync.WaitGroup
			for i := range 2 {
				wait.Go(func() {
					_, _ = d.Open(ctx, sandbox.Spec{Name: fmt.Sprintf("f-%d", i), From: "a", Network: sandbox.Network{Allow: []string{"a.example"}}})
				})
			}
			wait.Wait()
		}},
		"of a snapshot": {base, func(ctx context.Context, d *testDriver, _ sandbox.Sandbox) {
			_, _ = d.Open(ctx, sandbox.Spec{Name: "f", From: "a"})
		}},
		"attach": {fresh, func(ctx context.Context, d *testDriver, _ sandbox.Sandbox) { _, _ = d.Attach(ctx, "a") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stub := service(t)
			for nth := 1; ; nth++ {
				over := false
				for _, sent := range []bool{true, false} {
					over = crash(t, stub, nth, sent, s.prepare, s.act) || over
				}
				if over {
					if nth < 3 {
						t.Errorf("only %d requests: is it still the same scene?", nth-1)
					}
					return
				}
			}
		})
	}
}

// crash plays a scene that dies at the nth request, and then the next process. It
// reports that the scene has no more requests.
func crash(t *testing.T, s *e2bsim.Server, nth int, sent bool, prepare func(context.Context, *testDriver) sandbox.Sandbox, act func(context.Context, *testDriver, sandbox.Sandbox)) bool {
	t.Helper()
	c := configFor(t, s)
	way := &dying{next: cloud.NewTransport(true), book: t.TempDir(), copy: t.TempDir()}
	dead := driverOn(t, c, bookIn(t, way.book), way)
	dead.p.control.Retry.Broken = cloud.Backoff{Tries: 1}
	dead.p.timing.window, dead.p.timing.rest = 20*time.Millisecond, time.Hour
	var sb sandbox.Sandbox
	if prepare != nil {
		sb = prepare(t.Context(), dead)
	}
	way.arm(nth, sent)
	act(t.Context(), dead, sb)
	way.mu.Lock()
	died := way.dead
	way.dead = true // what it still has in the background is over, too
	way.mu.Unlock()
	at := way.copy
	if !died {
		at = way.book
	}
	if way.failed != nil {
		t.Fatal(way.failed)
	}
	next := driverOn(t, c, bookIn(t, at), cloud.NewTransport(true))
	if _, err := next.Sweep(t.Context(), nobody); err != nil {
		t.Errorf("request %d, sent %v: sweep: %v", nth, sent, err)
	}
	if ids := append(s.Billed(), s.Stored()...); len(ids) > 0 {
		t.Errorf("request %d, sent %v: left at the service: %q", nth, sent, ids)
		sweepIDs(s, ids)
	}
	if all, err := next.p.journal.All(); len(all) > 0 || err != nil {
		t.Errorf("request %d, sent %v: records are left: %+v, %v", nth, sent, all, err)
	}
	return !died
}

func sweepIDs(s *e2bsim.Server, ids []string) {
	for _, id := range ids {
		s.Kill(id)
	}
}

// sweeping sweeps whenever something was made whose answer is not read yet.
type sweeping struct {
	next  http.RoundTripper
	sweep func() error

	mu   sync.Mutex
	made int
}

func (s *sweeping) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	makes := r.Method == http.MethodPost && (r.URL.Path == "/v2/sandboxes" || strings.HasSuffix(r.URL.Path, "/fork") || strings.HasSuffix(r.URL.Path, "/snapshots"))
	if err != nil || !makes {
		return resp, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return resp, s.sweep()
}

// TestSweepSparesCallsUnderWay: what was just made and has no record yet is not
// taken for nobody's.
func TestSweepSparesCallsUnderWay(t *testing.T) {
	t.Parallel()
	s := service(t)
	way := &sweeping{next: cloud.NewTransport(true)}
	d := driverOn(t, configFor(t, s), bookIn(t, t.TempDir()), way)
	t.Cleanup(func() { sweepAll(t, d, s) })
	way.sweep = func() error {
		_, err := d.Sweep(context.Background(), func(sandbox.Info) bool { return true })
		return err
	}
	d.p.timing.window = time.Second
	base, _ := freeze(t, d, sandbox.Spec{Name: "base"})
	for _, sb := range append(openAll(t, d, base, 2, sandbox.Network{}), open(t, d, sandbox.Spec{Name: "alone", From: base})) {
		if got := shell(t, sb, "cat /workspace/repo/f"); got != "base" {
			t.Errorf("%s reads %q", sb.Name(), got)
		}
	}
	if way.made != 4 {
		t.Errorf("swept during %d calls, want 4", way.made)
	}
}

// TestSweepFindsByName: a snapshot that carries our name and is in no record goes,
// and so does a sandbox.
func TestSweepFindsByName(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	sb := open(t, d, sandbox.Spec{Name: "a"})
	for _, key := range []string{cloud.NewKey(), cloud.NewKey()} {
		if _, err := d.p.takeSnapshot(t.Context(), idOf(sb), d.p.snapshotPrefix()+key); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.p.forkMachine(t.Context(), idOf(sb), 2, time.Minute); err != nil {
		t.Fatal(err)
	}
	if gone, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return true }); len(gone) > 0 || err != nil {
		t.Errorf("swept %q, %v", gone, err)
	}
	if len(s.Stored()) > 0 || len(s.Billed()) != 1 {
		t.Errorf("stored %q, running %q, want only the one sandbox", s.Stored(), s.Billed())
	}
	if got := shell(t, sb, "echo alive"); got != "alive" {
		t.Error(got)
	}
}

// TestNotesOfTheVersionBefore: a sandbox and a base that an earlier version noted in
// its words are attached to, opened from and swept.
func TestNotesOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	s := service(t)
	c, dir := configFor(t, s), t.TempDir()
	dead := driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true))
	base, _ := freeze(t, dead, sandbox.Spec{Name: "base"})
	open(t, dead, sandbox.Spec{Name: "a", Network: sandbox.Network{Allow: []string{"a.example"}}})
	for _, name := range []string{"base", "a"} {
		n := noteOf(t, dead, name)
		n.Base = n.Stage == cloud.Frozen
		n.More = map[string]string{"from": "", "network": strings.Join(n.Allow, " "), "size": "0.5"}
		if n.Snapshot != "" {
			n.More["snapshot"] = n.Snapshot
		}
		if err := bookIn(t, dir).Put(n.Record); err != nil {
			t.Fatal(err)
		}
	}
	d := driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true))
	sb, err := d.Attach(t.Context(), "a")
	if err != nil || !d.HasBase(t.Context(), base) {
		t.Fatalf("attach: %v", err)
	}
	if allow, _, _ := s.Network(idOf(sb)); len(allow) != 1 || sb.(sandbox.Placed).Place().HourlyUSD != 0.5 {
		t.Errorf("it may reach %q and is at %+v", allow, sb.(sandbox.Placed).Place())
	}
	shell(t, open(t, d, sandbox.Spec{Name: "copy", From: base}), "cat /workspace/repo/f")
	if gone, err := driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true)).Sweep(t.Context(), nobody); err != nil || len(gone) != 3 {
		t.Errorf("swept %q, %v", gone, err)
	}
	left(t, s)
}
