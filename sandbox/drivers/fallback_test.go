package drivers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// two are two fakes, and the first with the second behind it.
func two() (first, second *fakesandbox.Driver, both sandbox.Driver) {
	first, second = fakesandbox.New(nil), fakesandbox.New(nil)
	first.SetTraits(func(t *sandbox.Traits) { t.Name = "first" })
	second.SetTraits(func(t *sandbox.Traits) { t.Name = "second" })
	return first, second, drivers.WithFallback(first, second, zerolog.Nop())
}

// always answers every operation of the kinds, or all, with the error.
func always(err error, ops ...fakesandbox.Op) func(fakesandbox.Op, string) error {
	return func(op fakesandbox.Op, _ string) error {
		if len(ops) == 0 || slices.Contains(ops, op) {
			return err
		}
		return nil
	}
}

func open(t *testing.T, d sandbox.Driver, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	sb, err := d.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return sb
}

func in(sb sandbox.Sandbox) string { return sb.(sandbox.Placed).Place().Driver }

// TestFallbackKeepsTheContract: with the first driver at work, and with the second.
func TestFallbackKeepsTheContract(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(fakesandbox.Op, string) error{"first": nil, "second": always(sandbox.ErrUnavailable, fakesandbox.OpOpen)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, _, both := two()
			first.SetFault(fault)
			sandboxtest.Run(t, sandboxtest.Harness{Driver: both})
		})
	}
}

// TestSecondTakesOverOnlyWhenTheFirstCannot: other errors are the first one's own.
func TestSecondTakesOverOnlyWhenTheFirstCannot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		over bool
	}{
		{sandbox.ErrUnavailable, true},
		{sandbox.ErrCapacity, true},
		{sandbox.ErrSetting, false},
		{sandbox.ErrLimit, false},
		{errors.New("broken"), false},
	} {
		first, _, both := two()
		first.SetFault(always(c.err, fakesandbox.OpOpen))
		sb, err := both.Open(t.Context(), sandbox.Spec{Name: "a"})
		if (err == nil) != c.over || c.over && in(sb) != "second" || !c.over && !errors.Is(err, c.err) {
			t.Errorf("%v: %v", c.err, err)
		}
	}
	first, second, both := two()
	first.SetFault(always(sandbox.ErrCapacity))
	second.SetFault(always(sandbox.ErrSetting))
	if _, err := both.Open(t.Context(), sandbox.Spec{Name: "a"}); !errors.Is(err, sandbox.ErrCapacity) || !errors.Is(err, sandbox.ErrSetting) {
		t.Errorf("the error %v should tell both", err)
	}
}

// TestBaseIsLookedForInBoth: it is used where it is, and a missing one is told with the
// driver in which it is to be made.
func TestBaseIsLookedForInBoth(t *testing.T) {
	t.Parallel()
	first, second, both := two()
	forker := both.(sandbox.Forker)
	at := func(err error) sandbox.Driver {
		t.Helper()
		var e interface{ At() sandbox.Driver }
		if !errors.Is(err, sandbox.ErrGone) || !errors.As(err, &e) {
			t.Fatalf("%v tells no driver", err)
		}
		return e.At()
	}
	fork := sandbox.Spec{Name: "fork", From: "base"}
	if _, err := both.Open(t.Context(), fork); at(err) != first {
		t.Error("nobody has the base, so the first should get it")
	}
	if _, err := forker.Freeze(t.Context(), open(t, both, sandbox.Spec{Name: "base"})); err != nil || !first.HasBase(t.Context(), "base") {
		t.Errorf("not frozen in the first: %v", err)
	}
	first.SetFault(always(sandbox.ErrCapacity, fakesandbox.OpOpen))
	if _, err := both.Open(t.Context(), fork); at(err) != second {
		t.Error("the first is full, so the second should get a base")
	}
	if _, err := forker.Freeze(t.Context(), open(t, both, sandbox.Spec{Name: "base"})); err != nil || !second.HasBase(t.Context(), "base") {
		t.Errorf("not frozen in the second: %v", err)
	}
	if sb := open(t, both, fork); in(sb) != "second" {
		t.Errorf("opened in %s", in(sb))
	}
	first.SetFault(nil)
	if err := first.Thaw(t.Context(), "base"); err != nil {
		t.Fatal(err)
	}
	if sb := open(t, both, sandbox.Spec{Name: "fork2", From: "base"}); in(sb) != "second" || !forker.HasBase(t.Context(), "base") {
		t.Errorf("the base of the second is not used, but %s", in(sb))
	}
	if err := forker.Thaw(t.Context(), "base"); err != nil || second.HasBase(t.Context(), "base") {
		t.Errorf("not thawed: %v", err)
	}
}

// TestFreezeWhereTheSecondCannot: the sandbox lives on.
func TestFreezeWhereTheSecondCannot(t *testing.T) {
	t.Parallel()
	first, second, both := two()
	second.SetTraits(func(t *sandbox.Traits) { t.Fork = false })
	first.SetFault(always(sandbox.ErrUnavailable, fakesandbox.OpOpen))
	sb := open(t, both, sandbox.Spec{Name: "base"})
	if _, err := both.(sandbox.Forker).Freeze(t.Context(), sb); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("freeze: %v", err)
	}
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"}); err != nil {
		t.Error(err)
	}
}

// TestAttachAsksBoth: gone is only what both do not have.
func TestAttachAsksBoth(t *testing.T) {
	t.Parallel()
	first, second, both := two()
	open(t, first, sandbox.Spec{Name: "a"})
	open(t, second, sandbox.Spec{Name: "b"})
	for name, want := range map[string]string{"a": "first", "b": "second"} {
		if sb, err := both.Attach(t.Context(), name); err != nil || in(sb) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := both.Attach(t.Context(), "c"); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("c: %v", err)
	}
	first.SetFault(always(sandbox.ErrUnavailable))
	if sb, err := both.Attach(t.Context(), "b"); err != nil || in(sb) != "second" {
		t.Errorf("b, with the first one down: %v", err)
	}
	if _, err := both.Attach(t.Context(), "c"); errors.Is(err, sandbox.ErrGone) || !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("c may be in the first: %v", err)
	}
}

// TestSweepAndCheckOfBoth: the fault of one keeps nothing from the other.
func TestSweepAndCheckOfBoth(t *testing.T) {
	t.Parallel()
	first, second, both := two()
	open(t, first, sandbox.Spec{Name: "a"})
	open(t, second, sandbox.Spec{Name: "b"})
	first.SetFault(always(sandbox.ErrUnavailable))
	none := func(sandbox.Info) bool { return false }
	if gone, err := both.Sweep(t.Context(), none); !errors.Is(err, sandbox.ErrUnavailable) || !slices.Equal(gone, []string{"b"}) {
		t.Errorf("swept %q, %v", gone, err)
	}
	if err := both.Check(t.Context()); err != nil {
		t.Errorf("the second can work: %v", err)
	}
	first.SetFault(always(sandbox.ErrSetting))
	if err := both.Check(t.Context()); !errors.Is(err, sandbox.ErrSetting) {
		t.Errorf("a wrong setting is hidden: %v", err)
	}
	first.SetFault(nil)
	if gone, err := both.Sweep(t.Context(), none); err != nil || !slices.Equal(gone, []string{"a"}) {
		t.Errorf("swept %q, %v", gone, err)
	}
	t2 := both.Traits()
	if t2.Name != "first" || !strings.Contains(strings.Join(t2.Notes, "\n"), "second takes over") {
		t.Errorf("traits %+v", t2)
	}
	if !t2.Launch || !t2.Socket {
		t.Errorf("both can launch and show a socket, but together: %+v", t2)
	}
	second.SetTraits(func(t *sandbox.Traits) { t.Socket = false })
	if t2 := both.Traits(); !t2.Launch || t2.Socket {
		t.Errorf("the second can show no socket, but together: %+v", t2)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := both.Open(ctx, sandbox.Spec{Name: "c"}); err == nil || second.Count(fakesandbox.OpOpen) != 1 {
		t.Errorf("a cancelled opening went on in the second: %v", err)
	}
}
