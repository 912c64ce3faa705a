package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// TestGoingOn picks, retries and revises by buttons and comments, after a first
// solve: one pull request in all, its branch, body and check brought up to date.
// So it is, too, when answers of GitHub are lost on the way.
func TestGoingOn(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	for _, name := range []string{"whole", "lossy"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "whole" {
				require.Long(t)
			}
			w, a := faultRow{}.world(t)
			if name == "whole" {
				w.github = described(t)
			} else {
				for _, f := range lossy() {
					w.hub.Inject(f)
				}
			}
			w.cfg.Solver.Defaults.Models = []string{"careful", "sprawling", "breaker"}
			w.goOn(a)
		})
	}
}

// lossy are lost answers and limits that come again and again, to every write there is.
func lossy() []githubsim.Fault {
	var out []githubsim.Fault
	for _, e := range []endpoint{
		{"POST", `/comments$`}, {"POST", `/check-runs$`}, {"PATCH", `/check-runs/`}, {"PATCH", `/git/refs/`}, {"PATCH", `/pulls/`},
		{"POST", `/git/commits$`}, {"POST", `/reactions$`},
	} {
		for _, nth := range []int{1, 3, 5} {
			out = append(out, githubsim.Fault{Kind: githubsim.FaultLostAnswer, Method: e.method, Path: e.path, Nth: nth})
		}
	}
	return out
}

// goOn plays it all.
func (w *world) goOn(a *txtar.Archive) {
	t := w.t
	srv, stop := w.serve()
	w.openIssue(a)
	w.must(w.hub.Label(w.repo.FullName(), w.issue, user, "yudai:solve"))
	first := w.final(srv, 2*time.Minute)
	if first.Solve.State != solve.StateSolved || first.Solve.Decision.Champion != 1 {
		t.Fatalf("the first solve is %s: %s", first.Solve.State, states(first))
	}

	// The button on the scorecard makes the runner-up the champion.
	card := w.card(first.Solve.ID)
	if got := card.Buttons; !slices.Contains(got, "pick") || !slices.Contains(got, "retry") {
		t.Errorf("the scorecard has the buttons %v", got)
	}
	w.must(w.hub.Press(w.repo.FullName(), card.ID, user, "pick"))
	picked := w.following(srv, first, solve.StateSolved)
	w.onPull(picked, "picked it", "README.md", "add.sh", "calc.sh")

	// A command on the pull request runs again what had not passed. The rule decides again.
	_, err := w.hub.Comment(w.repo.FullName(), picked.Solve.Pull.Number, user, "/yudai retry")
	w.must(err)
	retried := w.following(srv, picked, solve.StateSolved)
	if r := retried.Runs; r[0].From == nil || r[1].From == nil || r[2].From != nil || retried.Solve.Decision.Champion != 1 {
		t.Errorf("retried: %s", states(retried))
	}
	w.onPull(retried, "Run 1 (`careful`", "calc.sh")

	// Somebody adds a commit: nothing is overwritten, but a revision goes on from it.
	_, err = w.hub.CommitFiles(w.repo.FullName(), retried.Solve.Branch, "a person's", map[string]string{"NOTES.md": "by hand\n"})
	w.must(err)
	_, err = w.hub.Comment(w.repo.FullName(), w.issue, user, "/yudai pick 2")
	w.must(err)
	w.awaitComments([]string{"holds commits of others"})
	_, err = w.hub.Comment(w.repo.FullName(), retried.Solve.Pull.Number, user, "/yudai revise Mention it in the README.")
	w.must(err)
	revised := w.following(srv, retried, solve.StateSolved)
	w.onPull(revised, "It revises #", "NOTES.md", "README.md", "add.sh", "calc.sh")
	if revised.Solve.Follows.Kind != solve.FollowRevise || revised.Solve.Trigger.Thread != retried.Solve.Pull.Number {
		t.Errorf("revised: %+v", revised.Solve.Follows)
	}
	if n := len(w.pulls()); n != 1 {
		t.Errorf("%d pull requests", n)
	}
	w.judge(stop)
}

// card is the check run with the scorecard of a solve.
func (w *world) card(id solve.ID) githubsim.Check {
	w.t.Helper()
	checks, err := w.hub.Checks(w.repo.FullName())
	w.must(err)
	for _, c := range checks {
		if c.ExternalID == "yudai:"+string(id)+"/head" {
			return c
		}
	}
	w.t.Fatalf("solve %s has no scorecard", id)
	return githubsim.Check{}
}

// following waits for the end of the solve that goes on from one.
func (w *world) following(srv *server.Server, from report.View, ends ...solve.State) report.View {
	w.t.Helper()
	v := w.until(srv, 2*time.Minute, func(v report.View) bool {
		if v.Solve.Follows == nil || v.Solve.Follows.Of != from.Solve.ID || !v.Solve.State.Final() {
			return false
		}
		settled, err := srv.Settled(w.t.Context(), v.Solve.ID)
		w.must(err)
		return settled
	})
	if !slices.Contains(ends, v.Solve.State) {
		w.t.Fatalf("solve %s is %s (%s): %s", v.Solve.ID, v.Solve.State, v.Solve.Reason, states(v))
	}
	return v
}

// onPull looks at the one pull request: its head is the solve's champion, it changes
// these files, and body and scorecard say the word.
func (w *world) onPull(v report.View, word string, files ...string) {
	w.t.Helper()
	pulls := w.pulls()
	if len(pulls) != 1 || v.Solve.Pull == nil || pulls[0].Number != v.Solve.Pull.Number || pulls[0].Head != v.Solve.Branch {
		w.t.Fatalf("the pull requests are %+v, the solve's %+v", pulls, v.Solve.Pull)
	}
	if pulls[0].HeadSHA != v.Solve.Pull.Commit {
		w.t.Errorf("the branch is at %s, the champion at %s", pulls[0].HeadSHA, v.Solve.Pull.Commit)
	}
	var changed []string
	for _, f := range pulls[0].Files {
		changed = append(changed, f.Path)
	}
	slices.Sort(changed)
	if !slices.Equal(changed, files) {
		w.t.Errorf("the pull request changes %v, want %v", changed, files)
	}
	card := w.card(v.Solve.ID)
	if card.SHA != v.Solve.Pull.Commit || card.Status != "completed" {
		w.t.Errorf("the scorecard stands %s on %s", card.Status, card.SHA)
	}
	for _, text := range []string{pulls[0].Body, card.Summary + card.Text} {
		if !strings.Contains(text, word) {
			w.t.Errorf("%q is missing in %s", word, text)
		}
	}
}
