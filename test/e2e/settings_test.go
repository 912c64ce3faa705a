package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// labelled opens an issue, puts the label on it and returns the ended solve.
func (w *world) labelled(label string, latest func() report.View) report.View {
	w.t.Helper()
	w.open("It is wrong: "+label, "Make it right.")
	w.must(w.hub.Label(w.repo.FullName(), w.issue, user, label))
	return latest()
}

// commitSettings commits a repository's settings to a branch.
func (w *world) commitSettings(full, branch, name, text string) {
	w.t.Helper()
	_, err := w.hub.CommitFiles(full, branch, "settings", map[string]string{name: text})
	w.must(err)
}

// TestSettingsOfARepository: what is wrong in the file of the base commit, or of the
// owner's .github repository, is told in one comment, with every place, and nothing is
// started; what stands on another branch has no say.
func TestSettingsOfARepository(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "36_own_settings")
	w := newWorld(t, a)
	w.cfg.Solver.Defaults.Models = []string{"careful"}
	srv, _ := w.serve()
	end := func() report.View { return w.final(srv, time.Minute) }
	refused := func(v report.View, parts ...string) {
		t.Helper()
		texts := w.ourComments()
		if !v.Solve.Refused || len(v.Runs) > 0 || len(texts) != 1 {
			t.Fatalf("the solve is %s (%s), refused %t, %d runs, %d comments", v.Solve.State, v.Solve.Reason, v.Solve.Refused, len(v.Runs), len(texts))
		}
		for _, part := range parts {
			if !strings.Contains(texts[0], part) {
				t.Errorf("%q is not said:\n%s", part, texts[0])
			}
		}
	}

	const wrong = "tests: 1\nlimits:\n  run_time: 9h\nprotected: docs\n"
	w.commitSettings(w.repo.FullName(), "outsider", solve.RepoConfigFile, wrong)
	v := w.labelled("yudai:solve", end)
	if v.Solve.State != solve.StateSolved || v.Solve.Plan.Limits.RunTime != 5*time.Minute {
		t.Fatalf("the solve is %s (%s) with %+v", v.Solve.State, v.Solve.Reason, v.Solve.Plan.Limits)
	}

	w.commitSettings(w.repo.FullName(), "main", solve.RepoConfigFile, wrong)
	refused(w.labelled("yudai:solve", end), "are wrong, so nothing was started", "\n- 1:1: tests: unknown key; did you mean test?",
		"\n- 3:13: limits.run\\_time: is 9h, but the operator allows at most 20m", "\n- 4:12: protected: must be a list")

	w.commitSettings(w.repo.FullName(), "main", solve.RepoConfigFile, "profiles: {two: {repeat: 2}}\n")
	refused(w.labelled("yudai:three", end), "There is no profile", "yudai:three", "The profiles are two.")

	w.commitSettings(w.repo.FullName(), "main", solve.RepoConfigFile, "") // away
	_, err := w.hub.CreateRepo(owner, ".github", map[string]string{"yudai.yml": "limits: {run_steps: many}\n"})
	w.must(err)
	w.must(w.hub.AddRepos(w.install, ".github"))
	refused(w.labelled("yudai:solve", end), fmt.Sprintf("The settings in %s/.github/yudai.yml are wrong", owner), "1:21: limits.run\\_steps: must be a whole number")
}
