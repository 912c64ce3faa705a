package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/e2bsim"
	"github.com/yudai-dev/yudai/test/primesim"
)

// trouble is one thing that goes wrong at a provider while a solve is on.
type trouble struct {
	name  string
	e2b   func(s *e2bsim.Server)
	prime func(s *primesim.Server)
}

func troubles() []trouble {
	return []trouble{
		{
			name: "too many requests",
			e2b: func(s *e2bsim.Server) {
				s.Inject(e2bsim.Fault{Kind: e2bsim.FaultRate, On: e2bsim.AnyControl, Nth: 2, Count: 3, RetryAfter: 1})
			},
			prime: func(s *primesim.Server) {
				s.Inject(primesim.Fault{Kind: primesim.FaultStatus, Status: 429, Nth: 3, Count: 4})
			},
		},
		{
			name: "no room for a while",
			e2b: func(s *e2bsim.Server) {
				s.Inject(e2bsim.Fault{Kind: e2bsim.FaultCapacity, On: e2bsim.CallCreate, Count: 2})
			},
			prime: func(s *primesim.Server) {
				s.Inject(primesim.Fault{Kind: primesim.FaultStatus, Status: 429, On: primesim.CallCreate, Count: 3})
			},
		},
		{
			name: "server errors",
			e2b: func(s *e2bsim.Server) {
				s.Inject(e2bsim.Fault{Kind: e2bsim.FaultStatus, Status: 503, On: e2bsim.AnyControl, Nth: 2, Count: 3})
			},
			prime: func(s *primesim.Server) {
				s.Inject(primesim.Fault{Kind: primesim.FaultStatus, Status: 503, Nth: 2, Count: 3})
			},
		},
		{
			name: "lost answers",
			e2b: func(s *e2bsim.Server) {
				s.Inject(e2bsim.Fault{Kind: e2bsim.FaultLost, On: e2bsim.CallCreate})
				s.Inject(e2bsim.Fault{Kind: e2bsim.FaultLost, On: e2bsim.CallCapture})
			},
			prime: func(s *primesim.Server) {
				s.Inject(primesim.Fault{Kind: primesim.FaultLost, On: primesim.CallCreate})
				s.Inject(primesim.Fault{Kind: primesim.FaultLost, On: primesim.CallCheckpoint})
			},
		},
		{
			name: "streams cut",
			e2b: func(s *e2bsim.Server) {
				s.Inject(e2bsim.Fault{Kind: e2bsim.FaultCut, On: e2bsim.CallStart, Frames: 1, Nth: 10, Count: 12})
			},
			prime: func(s *primesim.Server) {
				s.Inject(primesim.Fault{Kind: primesim.FaultCut, On: primesim.CallStart, Frames: 1, Nth: 10, Count: 12})
			},
		},
		{
			name: "sandboxes die",
			e2b:  func(s *e2bsim.Server) { s.Inject(e2bsim.Fault{Kind: e2bsim.FaultKill, On: e2bsim.CallStart, Nth: 25}) },
			prime: func(s *primesim.Server) {
				s.Inject(primesim.Fault{Kind: primesim.FaultKill, On: primesim.CallStart, Nth: 25, Reason: "OOM_KILLED"})
			},
		},
	}
}

// troubleAtProviders: whatever passes at a provider, the solve comes to its
// champion, and nothing that costs money is left.
func troubleAtProviders(t *testing.T) {
	for _, tr := range troubles() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range []string{"e2b", "prime"} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					p := e2bPlace
					if name == "prime" {
						p = primePlace
					}
					at := p(t)
					at.upset(tr)
					v := at.small(t, nil)
					if v.Solve.State != solve.StateSolved || v.Runs[v.Solve.Decision.Champion-1].Experiment.Model != "careful" {
						t.Errorf("the solve is %s (%s): %s", v.Solve.State, v.Solve.Reason, states(v))
					}
				})
			}
		})
	}
}

// small runs a solve of two experiments, after change.
func (p place) small(t *testing.T, change func(w *world)) report.View {
	t.Helper()
	w, play := p.matrix(t)
	w.cfg.Solver.Defaults.Models, w.cfg.Solver.Defaults.Temps = []string{"careful", "hasty"}, []float64{0}
	if change != nil {
		change(w)
	}
	return play()
}

// fallbackTakesOver: a provider that is gone before the solve, in the middle of
// it, or whose key is revoked, loses the solve to the driver that is named for that;
// without one the solve says why.
func fallbackTakesOver(t *testing.T) {
	requireSandbox(t)
	for _, when := range []string{"at once", "in the middle"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			at := e2bPlace(t)
			if when == "at once" {
				must(t, at.e2b.Down(true))
				at.mend = func() { must(t, at.e2b.Down(false)) }
			} else {
				at.mend = at.e2b.Inject(e2bsim.Fault{Kind: e2bsim.FaultStatus, Status: 503, On: e2bsim.AnyControl, Nth: 12, Count: -1}).Remove
			}
			v := at.small(t, func(w *world) { w.cfg.Sandbox.Fallback = "local" })
			if v.Solve.State != solve.StateSolved {
				t.Errorf("the solve is %s (%s): %s", v.Solve.State, v.Solve.Reason, states(v))
			}
			if r := v.Runs[v.Solve.Decision.Champion-1]; !slices.ContainsFunc(r.SandboxUses, func(s solve.SandboxUse) bool { return s.Driver == "local" }) {
				t.Errorf("the champion was never in local: %+v", r.SandboxUses)
			}
		})
	}
}

// keyRevoked: where a key is revoked in the middle and nobody takes over, the
// solve ends and says what to set.
func keyRevoked(t *testing.T) {
	at := primePlace(t)
	at.left = func() []string { return nil } // nobody can close anything
	v := at.small(t, func(w *world) {
		go revokeAfterCheck(w.t.Context(), at.prime)
	})
	if v.Solve.State == solve.StateSolved || !strings.Contains(v.Solve.Reason+states(v), "sandbox.prime.api_key_env") {
		t.Errorf("the solve is %s (%s): %s", v.Solve.State, v.Solve.Reason, states(v))
	}
}

// revokeAfterCheck revokes the key once a second sandbox was asked for: the first is
// that of the check at the start.
func revokeAfterCheck(ctx context.Context, s *primesim.Server) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for s.Calls(primesim.CallCreate) < 2 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	s.SetKey(primesim.DefaultKey, false)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// upset lets something go wrong at the place's provider, once the program has tried it.
func (p place) upset(tr trouble) {
	if p.e2b != nil {
		tr.e2b(p.e2b)
	} else {
		tr.prime(p.prime)
	}
}
