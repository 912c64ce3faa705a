package solver_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

const ownSettings = `
test: {command: ` + testCommand + `}
install: {command: ` + installCommand + `}
network: [pypi.org]
strategies: {ours: Follow our style.}
profiles: {twice: {repeat: 2, strategies: [ours], label: "yudai:double"}}
protected: [docs/]
limits: {run_steps: 7, parallel: 1}
`

// TestOwnSettings: the repository's file decides commands, network, texts, limits and
// protected paths of its solve, and the plan says so.
func TestOwnSettings(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Tests.Command, w.cfg.Tests.Hosts = "the operator's", []string{"registry.example.com"}
		w.hub.config = ownSettings
		w.writer()
		w.start("a")
		id := w.ask(func(s *solve.Solve) { s.Request.Profile = "twice" })
		s := w.final(id, solve.StateSolved)
		if s.Base.Test.Command != testCommand || s.Base.Test.Source != ".github/yudai.yml" || s.Base.Install != installCommand {
			w.Errorf("base %+v", s.Base)
		}
		for _, spec := range w.driver.specs("prepare") {
			if strings.HasSuffix(spec.Name, "-install") && !slices.Equal(spec.Network.Allow, []string{"pypi.org"}) {
				w.Errorf("the install may reach %q", spec.Network.Allow)
			}
		}
		if l := s.Plan.Limits; l.RunSteps != 7 || l.Parallel != 1 || l.RunTime != w.cfg.Limits.RunTime {
			w.Errorf("limits %+v", l)
		}
		if len(s.Plan.Experiments) != 2 || s.Plan.StrategyText["ours"] != "Follow our style." {
			w.Errorf("plan %+v", s.Plan)
		}
		notes := strings.Join(s.Plan.Notes, "\n")
		if !strings.Contains(notes, "settings of .github/yudai.yml are used") || !strings.Contains(notes, "profile twice is used") {
			w.Errorf("notes %q", notes)
		}
		if p := s.Plan.Settings.Patch.Protected; !slices.Equal(p, []string{"docs/"}) {
			w.Errorf("protected %q", p)
		}
		if !slices.Equal(w.hub.configAt, []string{w.hub.sha}) {
			w.Errorf("the file was read at %q, want the base commit %s", w.hub.configAt, w.hub.sha)
		}
	})
}

// TestProtectedPathRefusesTheCandidate: a patch that touches it fails, with the path named.
func TestProtectedPathRefusesTheCandidate(t *testing.T) {
	bubble(t, func(w *world) {
		w.hub.config = "protected: [\"**\"]"
		w.start("a")
		id := w.ask()
		w.writer()
		w.final(id, solve.StateUnsolved)
		r := w.run1(id)
		if r.State != solve.RunFailed || r.Candidate == nil || !strings.Contains(r.Candidate.Refused, "which the repository protects") {
			w.Errorf("run is %s: %+v", r.State, r.Candidate)
		}
	})
}

// TestSettingsOutliveTheProcess: a solve that was planned under one configuration is
// prepared and judged by it, when another process with another one goes on.
func TestSettingsOutliveTheProcess(t *testing.T) {
	bubble(t, func(w *world) {
		w.hub.config = ownSettings
		w.machine.on(installCommand, sleeps(time.Minute))
		writer := w.writer()
		p := w.start("a")
		id := w.ask()
		w.state(id, solve.StatePreparing)
		p.kill()
		w.machine.on(installCommand, nil)
		w.cfg.Tests.Command, w.cfg.Tests.Install, w.cfg.Repository.Read = "nosuch", "nosuch", false
		w.cfg.Patch.MaxKiB = 1
		w.hub.set(func(h *hub) { h.config = "test: {command: other}" })
		w.start("b")
		s := w.final(id, solve.StateSolved)
		if s.Base.Test.Command != testCommand || s.Base.Install != installCommand || s.Plan.Settings.Patch.MaxBytes == 1<<10 {
			w.Errorf("base %+v, settings %+v", s.Base, s.Plan.Settings)
		}
		if writer.count() == 0 {
			w.Error("nothing was written")
		}
	})
}

// TestWrongSettingsRefuseTheSolve: one reason with every problem, and nothing is started.
func TestWrongSettingsRefuseTheSolve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world)
		reason []string
	}{
		"three problems": {
			func(w *world) { w.hub.config = "tests: 1\nlimits:\n  run_time: 9h\nnetwork: [x.org]\n" },
			[]string{"The settings in .github/yudai.yml are wrong", ":\n1:1: tests: unknown key", "\n3:13: limits.run_time: is 9h", "\n4:11: network.0: \"x.org\""},
		},
		"too large":          {func(w *world) { w.hub.refuse("config", solve.ErrTooLarge) }, []string{"more than 64 KiB"}},
		"commands forbidden": {func(w *world) { w.cfg.Repository.Commands, w.hub.config = false, "install: {command: x}" }, []string{"1:1: install: the operator does not let"}},
		"texts forbidden":    {func(w *world) { w.cfg.Repository.Strategies, w.hub.config = false, "strategies: {a: b}" }, []string{"1:1: strategies: the operator does not let"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				c.change(w)
				w.start("a")
				s := w.final(w.ask(), solve.StateFailed)
				for _, part := range c.reason {
					if !s.Refused || !strings.Contains(s.Reason, part) {
						w.Errorf("refused %t, reason %q, want %q", s.Refused, s.Reason, part)
					}
				}
				if n := w.hub.count("clone"); n > 0 {
					w.Errorf("%d clones", n)
				}
			})
		})
	}
}

// TestProfiles: by name, by label, the repository's before the operator's; one that
// nobody knows is refused with those that there are.
func TestProfiles(t *testing.T) {
	require.Daily(t)
	t.Parallel()
	for name, c := range map[string]struct {
		profile string
		runs    int // 0: refused
	}{
		"operator's": {"thrice", 3}, "repository's": {"twice", 2}, "by label": {"yudai:double", 2},
		"by its name as a label": {"yudai:four", 4}, "unknown": {"yudai:twise", 0}, "none": {"", 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.cfg.Profiles = map[string]repoconfig.Profile{"thrice": {Repeat: 3}, "twice": {Repeat: 9}}
				w.hub.config = ownSettings + "# more\n"
				w.hub.config = strings.Replace(w.hub.config, "profiles: {", "profiles: {four: {repeat: 4}, ", 1)
				w.writer()
				w.start("a")
				id := w.ask(func(s *solve.Solve) { s.Request.Profile = c.profile })
				if c.runs == 0 {
					s := w.final(id, solve.StateFailed)
					if !strings.Contains(s.Reason, `no profile "yudai:twise". Did you mean "twice"? The profiles are four, thrice, twice.`) {
						w.Error(s.Reason)
					}
					return
				}
				w.final(id, solve.StateSolved)
				if n := len(w.runs(id)); n != c.runs {
					w.Errorf("%d runs, want %d", n, c.runs)
				}
			})
		})
	}
}

// TestUnreadSettings: an operator who does not want such files never asks for one.
func TestUnreadSettings(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Repository.Read = false
		w.hub.config = "nonsense"
		w.writer()
		w.start("a")
		w.final(w.ask(), solve.StateSolved)
		if n := w.hub.count("config"); n > 0 {
			w.Errorf("the file was asked for %d times", n)
		}
	})
}

// TestRevisionKeepsTheSettings: the pull request's head may hold settings that a model
// wrote; those of the first solve's commit count.
func TestRevisionKeepsTheSettings(t *testing.T) {
	bubble(t, func(w *world) {
		w.hub.config = ownSettings
		w.writer()
		w.start("a")
		first := w.final(w.ask(), solve.StateSolved)
		second := w.ask(func(s *solve.Solve) {
			s.Issue.Number = first.Issue.Number
			s.Follows = &solve.Follow{Kind: solve.FollowRevise, Of: first.ID, Text: "again", Pull: &solve.Pull{Number: 9, Commit: strings.Repeat("0", 40)}}
		})
		w.final(second, solve.StateFailed) // there is no such commit here
		if !slices.Equal(w.hub.configAt, []string{w.hub.sha, w.hub.sha}) {
			w.Errorf("the settings were read at %q, want %s twice", w.hub.configAt, w.hub.sha)
		}
	})
}
