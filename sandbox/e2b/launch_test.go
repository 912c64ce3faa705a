package e2b

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// TestLaunchedKeepsItsLease: a sandbox in which only a launched program runs is extended
// as long as somebody has it, and reaches the one host that it was opened for, though its
// base could reach none. The next owner finds the program; without one the lease ends it.
func TestLaunchedKeepsItsLease(t *testing.T) {
	t.Parallel()
	const host = "yudai.example.org"
	s := service(t)
	c, dir := configFor(t, s), t.TempDir()
	d := driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true))
	t.Cleanup(func() { sweepAll(t, d, s) })
	base, err := d.Freeze(t.Context(), open(t, d, sandbox.Spec{Name: "base"}))
	if err != nil {
		t.Fatal(err)
	}
	sb := open(t, d, sandbox.Spec{Name: "a", From: base, Launch: true, Network: sandbox.Network{Allow: []string{host}}})
	if err := sb.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: "exec sleep 6000"}); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		s.Advance(c.Lease * 2 / 3)
		if err := d.p.KeepAlive(t.Context(), noteOf(t, d, "a"), nil); err != nil {
			t.Fatal("it is not extended any more")
		}
	}
	next := driverOn(t, c, bookIn(t, dir), cloud.NewTransport(true))
	again, err := next.Attach(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := again.(sandbox.Launcher).Launched(t.Context()); err != nil || !runs {
		t.Fatalf("after attach: %v, %v", runs, err)
	}
	if allow, deny, open := s.Network(idOf(sb)); !slices.Equal(allow, []string{host}) || !slices.Equal(deny, []string{everywhere}) || open {
		t.Errorf("it may reach %v, not %v, all else: %v", allow, deny, open)
	}
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "b", Network: sandbox.Network{Socket: dir}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a socket: %v, want ErrUnsupported", err)
	}
	s.Advance(c.Lease + time.Second)
	if _, err := again.(sandbox.Launcher).Launched(t.Context()); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("after its lease: %v, want ErrGone", err)
	}
}

// TestFreezeHaltsTheLaunched: what was launched does not run in copies.
func TestFreezeHaltsTheLaunched(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	t.Cleanup(func() { sweepAll(t, d, s) })
	sb := open(t, d, sandbox.Spec{Name: "base", Launch: true})
	if err := sb.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: "while :; do echo x >>/tmp/beat; sleep 0.02; done"}); err != nil {
		t.Fatal(err)
	}
	shell(t, sb, "until [ -s /tmp/beat ]; do sleep 0.02; done")
	base, err := d.Freeze(t.Context(), sb)
	if err != nil {
		t.Fatal(err)
	}
	fork := open(t, d, sandbox.Spec{Name: "fork", From: base, Launch: true})
	if runs, err := fork.(sandbox.Launcher).Launched(t.Context()); err != nil || runs {
		t.Errorf("launched in a fork: %v, %v", runs, err)
	}
	if got := shell(t, fork, "a=$(wc -l </tmp/beat); sleep 0.3; [ $a = $(wc -l </tmp/beat) ] && ls -A /workspace/.yudai/launched"); got != "" {
		t.Errorf("it beats, or there are notes: %q", got)
	}
}
