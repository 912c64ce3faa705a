package solver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// green makes all tests pass after a minute, so that none shows what a candidate does.
func (w *world) green() {
	w.machine.on(testCommand, func(ctx context.Context, _ fakesandbox.Call) (sandbox.Result, error) { return pause(ctx, time.Minute) })
}

// TestUnprovenIsOnlyTold: a candidate that nothing shows to be right opens no pull request where
// the operator wants that, also in a process with another setting, until a person picks it.
func TestUnprovenIsOnlyTold(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Unproven = solve.UnprovenComment
		w.green()
		writer := w.writer()
		p := w.start("a")
		id := w.ask(with("good"))
		w.runState(id, solve.RunJudging)
		p.kill()
		w.cfg.Unproven = solve.UnprovenReady
		w.start("b")
		s := w.final(id, solve.StateUnsolved)
		if s.Decision.Withheld != 1 || s.Decision.Champion != 0 || !strings.Contains(s.Reason, "solver.unproven") || writer.count() != 0 {
			w.Errorf("%+v: %s; %d pull requests", s.Decision, s.Reason, writer.count())
		}
		if _, same := report.Explain(solve.Record{V: solve.RecordVersion, Solve: s, Runs: w.runs(id)}); !same {
			w.Error("the record does not recompute")
		}
		w.asked(solve.CommandPick, s.Issue.Number, nil) // no number: the one that was withheld
		now, _ := w.next(s, solve.StateSolved)
		if now.Decision.Champion != 1 || now.Pull == nil || writer.count() != 1 {
			w.Errorf("%+v to %+v", now.Decision, now.Pull)
		}
	})
}

// TestUnprovenOpensADraft by default; one that a test proves does not, and neither does one that was picked.
func TestUnprovenOpensADraft(t *testing.T) {
	bubble(t, func(w *world) {
		w.writer()
		w.start("a")
		proven := w.final(w.ask(with("good")), solve.StateSolved)
		w.green()
		unproven := w.final(w.ask(with("good")), solve.StateSolved)
		picked := unproven
		picked.Follows = &solve.Follow{Kind: solve.FollowPick, Of: unproven.ID, N: 1}
		for want, s := range map[bool][]solve.Solve{true: {unproven}, false: {proven, picked}} {
			for _, one := range s {
				if got := one.OpensDraft(w.runs(one.ID)); got != want {
					w.Errorf("%s: a draft is %v, want %v", one.Grade(w.runs(one.ID)), got, want)
				}
			}
		}
	})
}

// TestNamedRule: the rule decides where no order is configured, and is stored with the plan.
func TestNamedRule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule  string
		order []string
		want  string
	}{
		"evidence":       {solve.RuleEvidence, nil, ""},
		"smallest":       {solve.RuleSmallest, nil, strings.Join(solve.OrderOf(solve.RuleSmallest), " ")},
		"the order wins": {solve.RuleSmallest, []string{"latency"}, "latency"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Rule, w.cfg.Order = c.rule, c.order
				w.writer()
				w.start("a")
				s := w.final(w.ask(with("good")), solve.StateSolved)
				if got := strings.Join(s.Plan.Settings.Order, " "); got != c.want {
					w.Errorf("order %q, want %q", got, c.want)
				}
			})
		})
	}
}
