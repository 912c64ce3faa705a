package e2b

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/test/e2bsim"
)

// freeze makes a base with a file in it.
func freeze(t *testing.T, d *testDriver, spec sandbox.Spec) (base, parent string) {
	t.Helper()
	sb := open(t, d, spec)
	shell(t, sb, "echo base >/workspace/repo/f")
	base, err := d.Freeze(t.Context(), sb)
	if err != nil {
		t.Fatal(err)
	}
	return base, idOf(sb)
}

// openAll opens n sandboxes of a base at once.
func openAll(t *testing.T, d *testDriver, base string, n int, network sandbox.Network) []sandbox.Sandbox {
	t.Helper()
	all := make([]sandbox.Sandbox, n)
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			all[i], errs[i] = d.Open(t.Context(), sandbox.Spec{Name: fmt.Sprintf("%s-%d", base, i), From: base, Network: network})
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return all
}

// awaitCall waits until a call was made n times.
func awaitCall(t *testing.T, s *e2bsim.Server, c e2bsim.Call, n int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for s.Calls()[c] < n {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%q was called %d times, want %d", c, s.Calls()[c], n)
		}
	}
}

// TestForksAreGathered: those that open one base at the same time are one call;
// each has the files of the base, a name and a record of its own, and the network
// that was asked for.
func TestForksAreGathered(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	d.p.timing.window = time.Second
	base, parent := freeze(t, d, sandbox.Spec{Name: "base", Network: sandbox.Network{Allow: []string{"registry.example"}}})
	all := openAll(t, d, base, 5, sandbox.Network{})
	calls := s.Calls()
	if calls[e2bsim.CallFork] != 1 || calls[e2bsim.CallCreate] != 1 {
		t.Errorf("%d forks and %d creations, want one each", calls[e2bsim.CallFork], calls[e2bsim.CallCreate])
	}
	ids := []string{}
	for i, sb := range all {
		if got := shell(t, sb, "cat /workspace/repo/f; echo "+fmt.Sprint(i)+" >/workspace/repo/f"); got != "base" {
			t.Errorf("fork %d reads %q", i, got)
		}
		p := sb.(sandbox.Placed).Place()
		if p.HourlyUSD == 0 {
			t.Error("a fork has no price")
		}
		if allow, _, _ := s.Network(p.ID); len(allow) > 0 {
			t.Errorf("fork %d may reach %q: it has the network of its parent", i, allow)
		}
		if r, err := d.p.journal.Read(sb.Name()); err != nil || r.ID != p.ID || r.Stage != cloud.Ready {
			t.Errorf("record %+v, %v", r, err)
		}
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 5 {
		t.Errorf("ids %q", ids)
	}
	awaitCall(t, s, e2bsim.CallPause, 1)
	if slices.Contains(s.Billed(), parent) && !eventually(func() bool { return !slices.Contains(s.Billed(), parent) }) {
		t.Error("the parent does not rest after its batch")
	}
	if _, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if got := shell(t, all[2], "cat /workspace/repo/f"); got != "2" {
		t.Errorf("after a sweep fork 2 reads %q", got)
	}
	late := open(t, d, sandbox.Spec{Name: "late", From: base})
	if got := shell(t, late, "cat /workspace/repo/f"); got != "base" || s.Calls()[e2bsim.CallCreate] != 2 {
		t.Errorf("one that comes late reads %q", got)
	}
}

func eventually(ok func() bool) bool {
	for range 500 {
		if ok() {
			return true
		}
		t := time.NewTimer(10 * time.Millisecond)
		<-t.C
	}
	return ok()
}

// TestManyForks: more than one call may make are made of the snapshot.
func TestManyForks(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	d.p.timing.window = 5 * time.Second // ends early, when there are enough
	base, _ := freeze(t, d, sandbox.Spec{Name: "base"})
	began := time.Now()
	all := openAll(t, d, base, mostForks+2, sandbox.Network{})
	if calls := s.Calls(); calls[e2bsim.CallFork] != 1 || calls[e2bsim.CallCreate] != 3 {
		t.Errorf("%d forks, %d creations, want 1 and 3 (in %s)", calls[e2bsim.CallFork], calls[e2bsim.CallCreate], time.Since(began))
	}
	for _, sb := range all {
		if got := shell(t, sb, "cat /workspace/repo/f"); got != "base" {
			t.Errorf("%s reads %q", sb.Name(), got)
		}
	}
}

// TestOneAlone: a single one is made of the snapshot, and the parent stays for others.
func TestOneAlone(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	base, parent := freeze(t, d, sandbox.Spec{Name: "base"})
	open(t, d, sandbox.Spec{Name: "alone", From: base})
	if calls := s.Calls(); calls[e2bsim.CallFork] != 0 || !slices.Contains(s.Billed(), parent) {
		t.Errorf("%d forks, parent among %q: %s", calls[e2bsim.CallFork], s.Billed(), parent)
	}
	d.p.timing.window = time.Second
	openAll(t, d, base, 2, sandbox.Network{})
	if n := s.Calls()[e2bsim.CallFork]; n != 1 {
		t.Errorf("%d forks, want 1", n)
	}
}

// TestForkFails: whatever goes wrong with a fork, the copies come from the
// snapshot, and nothing is left over.
func TestForkFails(t *testing.T) {
	t.Parallel()
	for name, break_ := range map[string]func(s *e2bsim.Server, parent string){
		"server fault": func(s *e2bsim.Server, _ string) {
			s.Inject(e2bsim.Fault{On: e2bsim.CallFork, Kind: e2bsim.FaultStatus, Status: 500, Count: -1})
		},
		"lost answer": func(s *e2bsim.Server, _ string) { s.Inject(e2bsim.Fault{On: e2bsim.CallFork, Kind: e2bsim.FaultLost}) },
		"one copy fails": func(s *e2bsim.Server, _ string) {
			s.Inject(e2bsim.Fault{On: e2bsim.CallFork, Kind: e2bsim.FaultFail, Message: "no"})
		},
		"busy node": func(s *e2bsim.Server, _ string) {
			s.Inject(e2bsim.Fault{On: e2bsim.CallFork, Kind: e2bsim.FaultStatus, Status: 503})
		},
		"dead parent": func(s *e2bsim.Server, parent string) { s.Kill(parent) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, s := setup(t)
			d.p.timing.window = time.Second
			base, parent := freeze(t, d, sandbox.Spec{Name: "base"})
			break_(s, parent)
			all := openAll(t, d, base, 3, sandbox.Network{})
			for _, sb := range all {
				if got := shell(t, sb, "cat /workspace/repo/f"); got != "base" {
					t.Errorf("%s reads %q", sb.Name(), got)
				}
			}
			if !eventually(func() bool { return len(s.Billed()) <= 3 }) {
				t.Errorf("more runs than the three: %q", s.Billed())
			}
		})
	}
}

// TestForkWithoutAnswer: a fork that used up its time is cleaned up after, and nobody waits for that.
func TestForkWithoutAnswer(t *testing.T) {
	t.Parallel()
	s := service(t)
	waiters := []*waiter{{note: &cloud.Note{}, got: make(chan machine, 1)}, {note: &cloud.Note{}, got: make(chan machine, 1)}}
	d := driverOn(t, configFor(t, s), bookIn(t, t.TempDir()), roundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/fork") {
			res, err := http.DefaultTransport.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
			if err != nil {
				return nil, err
			}
			_ = res.Body.Close()
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		if r.Method == http.MethodDelete {
			for _, w := range waiters {
				select {
				case <-w.got:
				default:
					t.Error("somebody still waits")
				}
			}
		}
		return http.DefaultTransport.RoundTrip(r)
	}))
	sb := open(t, d, sandbox.Spec{Name: "base"})
	d.p.control.Retry.Slow = 100 * time.Millisecond
	d.p.forkAll(noteOf(t, d, "base"), waiters)
	if ids := s.Billed(); len(ids) != 1 || s.Calls()[e2bsim.CallFork] != 1 {
		t.Errorf("%q run, want the parent alone", ids)
	}
	if err := sb.Close(t.Context()); err != nil {
		t.Error(err)
	}
	left(t, s)
}

// TestUnusedParentEnds: a parent that nobody was forked from is ended after a
// while, and the base stays.
func TestUnusedParentEnds(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	d.p.timing.rest = 50 * time.Millisecond
	base, parent := freeze(t, d, sandbox.Spec{Name: "base"})
	if !eventually(func() bool { return !slices.Contains(slices.Concat(s.Billed(), s.Stored()), parent) }) {
		t.Error("the parent lives on")
	}
	if !d.HasBase(t.Context(), base) {
		t.Error("the base is gone with its parent")
	}
	if got := shell(t, open(t, d, sandbox.Spec{Name: "a", From: base}), "cat /workspace/repo/f"); got != "base" {
		t.Errorf("got %q", got)
	}
}

// TestRefusedCopyOfABase: what the service refuses about a snapshot is no fault of the template.
func TestRefusedCopyOfABase(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	base, _ := freeze(t, d, sandbox.Spec{Name: "base"})
	s.Inject(e2bsim.Fault{On: e2bsim.CallCreate, Kind: e2bsim.FaultStatus, Status: 400, Message: "the template is being moved"})
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "a", From: base}); err == nil || strings.Contains(err.Error(), "sandbox.e2b.template") {
		t.Errorf("open: %v, which sends people to the template", err)
	}
}

// TestBaseOutlivesItsMaker: the next process opens copies of a base, lets the
// parent rest, and removes both.
func TestBaseOutlivesItsMaker(t *testing.T) {
	t.Parallel()
	s := service(t)
	c, dir := configFor(t, s), t.TempDir()
	base, parent := freeze(t, driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true)), sandbox.Spec{Name: "base"})
	d := driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true))
	t.Cleanup(func() { sweepAll(t, d, s) })
	if !d.HasBase(t.Context(), base) {
		t.Fatal("the base is not found")
	}
	if gone, err := d.Sweep(t.Context(), func(i sandbox.Info) bool { return i.Base }); len(gone) > 0 || err != nil {
		t.Errorf("swept %q, %v", gone, err)
	}
	if slices.Contains(s.Billed(), parent) {
		t.Error("the parent of a dead process runs on")
	}
	sb := open(t, d, sandbox.Spec{Name: "a", From: base})
	if got := shell(t, sb, "cat /workspace/repo/f"); got != "base" {
		t.Errorf("got %q", got)
	}
	if err := d.Thaw(t.Context(), base); err == nil || !strings.Contains(err.Error(), "thaw base base: ") {
		t.Errorf("thaw of a base that is in use: %v", err)
	}
	if err := sb.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := d.Thaw(t.Context(), base); err != nil {
		t.Error(err)
	}
	left(t, s)
}

// TestThawBelowAnother: the parent of a base made from a base holds that one at
// the service; it goes, and its snapshot works on.
func TestThawBelowAnother(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	first, _ := freeze(t, d, sandbox.Spec{Name: "first"})
	second, _ := freeze(t, d, sandbox.Spec{Name: "second", From: first})
	if err := d.Thaw(t.Context(), first); err != nil {
		t.Errorf("thaw of the base below: %v", err)
	}
	if got := shell(t, open(t, d, sandbox.Spec{Name: "a", From: second}), "cat /workspace/repo/f"); got != "base" {
		t.Errorf("got %q", got)
	}
	_ = s
}

// TestNoForks: a server without snapshots says so, and the sandbox lives on.
func TestNoForks(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, func(o *e2bsim.Options) { o.NoFork = true })
	sb := open(t, d, sandbox.Spec{Name: "a"})
	if _, err := d.Freeze(t.Context(), sb); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("freeze: %v, want ErrUnsupported", err)
	}
	if got := shell(t, sb, "echo alive"); got != "alive" {
		t.Errorf("got %q", got)
	}
}

// TestFreezeFails: the sandbox lives on, and a snapshot whose answer was lost is removed.
func TestFreezeFails(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	sb := open(t, d, sandbox.Spec{Name: "a"})
	for _, f := range []e2bsim.Fault{
		{On: e2bsim.CallCapture, Kind: e2bsim.FaultLost}, {On: e2bsim.CallCapture, Kind: e2bsim.FaultLostStatus, Status: 500}, {On: e2bsim.CallCapture, Kind: e2bsim.FaultDrop},
	} {
		s.Inject(f)
		if _, err := d.Freeze(t.Context(), sb); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", f.Kind, err)
		}
		if ids := s.Stored(); len(ids) > 0 {
			t.Errorf("%s: left %q", f.Kind, ids)
		}
		if got := shell(t, sb, "echo alive"); got != "alive" {
			t.Errorf("%s: got %q", f.Kind, got)
		}
	}
	s.Kill(idOf(sb))
	if _, err := d.Freeze(t.Context(), sb); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("of a dead one: %v, want ErrGone", err)
	}
}
