package solver_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/sandboxes"
	"github.com/yudai-dev/yudai/test/fakesandbox"
	"github.com/yudai-dev/yudai/test/require"
)

// several are drivers by name.
type several struct {
	of    map[string]sandbox.Driver
	names []string
	all   []sandbox.Driver
}

func (s several) Of(name string) (sandbox.Driver, bool) {
	if name == "" {
		name = s.names[0]
	}
	d, ok := s.of[name]
	return d, ok
}
func (s several) Names() []string       { return s.names }
func (s several) All() []sandbox.Driver { return s.all }

// pair gives the world a second driver, called two; the first is one.
func (w *world) pair(choose func(one, two sandbox.Driver) sandboxes.Drivers) {
	w.second = &boxes{Driver: fakesandbox.New(w.machine.answer), from: map[string]string{}}
	w.driver.SetTraits(func(t *sandbox.Traits) { t.Name = "one" })
	w.second.SetTraits(func(t *sandbox.Traits) { t.Name = "two" })
	w.choose = choose
}

// both may be chosen.
func both(one, two sandbox.Driver) sandboxes.Drivers {
	return several{map[string]sandbox.Driver{"one": one, "two": two}, []string{"one", "two"}, []sandbox.Driver{one, two}}
}

// backed is one, from which two takes over.
func backed(one, two sandbox.Driver) sandboxes.Drivers {
	return several{map[string]sandbox.Driver{"one": drivers.WithFallback(one, two, zerolog.Nop()), "two": two}, []string{"one"}, []sandbox.Driver{one, two}}
}

// refusing answers an operation on the sandboxes whose name ends so with an error.
func refusing(err error, op fakesandbox.Op, suffixes ...string) func(fakesandbox.Op, string) error {
	return func(o fakesandbox.Op, name string) error {
		if o == op && slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) }) {
			return err
		}
		return nil
	}
}

// down is a driver whose provider does not answer.
func down(fakesandbox.Op, string) error { return sandbox.ErrUnavailable }

// opens counts the sandboxes opened for the solve in each phase, by driver.
func (w *world) opens(phase string) (one, two int) {
	return len(w.driver.specs(phase)), len(w.second.specs(phase))
}

// TestDriverIsChosen: by the command, else its profile, else the repository's file, else
// the default; and it is pinned in the plan.
func TestDriverIsChosen(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	const file = "sandbox: two\nprofiles: {here: {sandbox: one}, two: {sandbox: two}}\n"
	for name, c := range map[string]struct {
		file string
		ask  func(*solve.Request)
		want string
	}{
		"default":              {"", func(*solve.Request) {}, "one"},
		"command":              {"", func(r *solve.Request) { r.Sandbox = "two" }, "two"},
		"file":                 {file, func(*solve.Request) {}, "two"},
		"profile before file":  {file, func(r *solve.Request) { r.Profile = "here" }, "one"},
		"command before all":   {file, func(r *solve.Request) { r.Profile, r.Sandbox = "two", "one" }, "one"},
		"profile by its label": {file, func(r *solve.Request) { r.Profile = "yudai:two" }, "two"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.pair(both)
				w.hub.config = c.file
				w.writer()
				w.start("a")
				s := w.final(w.ask(func(s *solve.Solve) { c.ask(&s.Request) }), solve.StateSolved)
				one, two := w.opens("work")
				if s.Plan.Sandbox != c.want || one+two != 1 || (two == 1) != (c.want == "two") {
					w.Errorf("planned with %q, %d sandboxes in one, %d in two", s.Plan.Sandbox, one, two)
				}
			})
		})
	}
}

// TestDriverThatIsNotOffered is refused with the choices, and nothing is started.
func TestDriverThatIsNotOffered(t *testing.T) {
	bubble(t, func(w *world) {
		w.pair(both)
		w.start("a")
		s := w.final(w.ask(func(s *solve.Solve) { s.Request.Sandbox = "three" }), solve.StateFailed)
		if !s.Refused || !strings.Contains(s.Reason, `"three" is not offered here`) || !strings.Contains(s.Reason, "one, two") {
			w.Errorf("refused %t: %q", s.Refused, s.Reason)
		}
		if w.driver.Count(fakesandbox.OpOpen)+w.second.Count(fakesandbox.OpOpen) > 0 {
			w.Error("something was started")
		}
	})
}

// TestDriverStaysPinned: another default does not move a solve that runs, and what goes on
// from it has its driver; one that is gone is told.
func TestDriverStaysPinned(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.pair(both)
		w.slowly("slowly")
		w.writer()
		a := w.start("a")
		id := w.ask(with("slowly", "bad"))
		w.steps(id, 3)
		a.kill()
		w.choose = func(one, two sandbox.Driver) sandboxes.Drivers {
			d := both(one, two).(several)
			d.names = []string{"two", "one"}
			return d
		}
		w.start("b")
		s := w.final(id, solve.StateSolved)
		if _, two := w.opens("work"); two != 0 || w.run1(id).Attempt != 1 {
			w.Errorf("%d sandboxes in the new default, attempt %d", two, w.run1(id).Attempt)
		}
		w.hub.set(func(h *hub) {
			h.pull = solve.PullNow{Open: true, Branch: s.Branch, SHA: s.Pull.Commit, Base: "main"}
		})
		for _, kind := range []solve.CommandKind{solve.CommandRetry, solve.CommandRevise} {
			if reply, _ := w.sayAs(kind, s.Issue.Number, "slowly, please", nil); reply != "" {
				w.Errorf("%s is answered with %q", kind, reply)
			}
			next, _ := w.next(s, solve.StateSolved)
			if _, two := w.opens("work"); two != 0 || next.Plan.Sandbox != "one" {
				w.Errorf("%s: planned with %q, %d sandboxes in two", kind, next.Plan.Sandbox, two)
			}
			s = next
			w.hub.set(func(h *hub) { h.pull.SHA = h.sha })
		}
	})
}

// TestDriverThatIsGone: a solve whose driver is not configured any more ends and says so.
func TestDriverThatIsGone(t *testing.T) {
	bubble(t, func(w *world) {
		w.pair(both)
		w.slowly("slowly")
		w.writer()
		a := w.start("a")
		id := w.ask(with("slowly"), func(s *solve.Solve) { s.Request.Sandbox = "two" })
		w.steps(id, 3)
		a.kill()
		w.must(errors.Join(w.emptySecond()))
		w.choose = func(one, _ sandbox.Driver) sandboxes.Drivers { return fakesandbox.Only{Driver: one} }
		w.start("b")
		w.final(id, solve.StateUnsolved)
		if r := w.ends(id, solve.RunLost)[0]; !strings.Contains(r.Reason, `"two"`) || !strings.Contains(r.Reason, "sandbox.choices") || r.Attempt != 1 {
			w.Errorf("attempt %d: %q", r.Attempt, r.Reason)
		}
	})
}

// emptySecond removes everything from the second driver.
func (w *world) emptySecond() error {
	_, err := w.second.Sweep(w.Context(), func(sandbox.Info) bool { return false })
	return err
}

// TestSweepOfOneFails and the other driver is swept all the same.
func TestSweepOfOneFails(t *testing.T) {
	bubble(t, func(w *world) {
		w.pair(both)
		w.cfg.SweepEvery = 10 * time.Second
		w.driver.SetFault(refusing(sandbox.ErrUnavailable, fakesandbox.OpSweep, ""))
		d := &tenant{boxes: w.second}
		_, err := d.Open(w.Context(), sandbox.Spec{Name: "y-old-1-1"})
		w.must(err)
		w.start("a")
		w.clean()
		w.await(time.Minute, "sweeps of the first driver", func() bool { return w.driver.Count(fakesandbox.OpSweep) > 1 })
	})
}
