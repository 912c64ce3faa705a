package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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

// TestScenarios plays each file of testdata against the whole program: real
// webhooks, real git, real sandboxes, a scripted model.
func TestScenarios(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for i, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if i > 2 && i%3 != 0 {
				require.Long(t)
			}
			a, s := load(t, name)
			play(t, a, s)
		})
	}
}

func play(t *testing.T, a *txtar.Archive, s scenario) {
	w := newWorld(t, a)
	if len(s.Models) > 0 {
		w.cfg.Solver.Defaults.Models = s.Models
	}
	for i, m := range w.cfg.Models.Models {
		if slices.Contains(s.Deaf, m.Name) {
			w.cfg.Models.Models[i].Temperature = "ignored"
		}
	}
	if s.RunSteps > 0 {
		w.cfg.Solver.Limits.RunSteps = s.RunSteps
	}
	if s.Permission != "" {
		w.must(w.hub.SetPermission(w.repo.FullName(), user, s.Permission))
	}
	w.addKeyless(s.Keyless)
	w.spoil(s.Garbage)
	srv, _ := w.serve()
	if s.Issue != nil {
		w.open(s.Issue.text())
	} else {
		w.openIssue(a)
	}
	w.mess(s.Garbage)
	if len(s.Meanwhile) > 0 {
		w.holdPermissions()
		for _, action := range []string{"closed", "deleted", "transferred"} { // who claims the solve must see it
			w.hub.Disturb(githubsim.Disturbance{Kind: githubsim.DisturbDrop, Event: "issues", Action: action, Count: -1})
		}
	}
	comment := w.trigger(s)
	if len(s.Meanwhile) > 0 {
		w.until(srv, time.Minute, func(v report.View) bool { return v.Solve.State == solve.StateQueued })
		w.disturb(s.Meanwhile)
		w.releasePermissions()
	}
	e := s.Expect
	if e.State == "" {
		w.awaitComments(e.Comments)
	} else {
		w.checkSolve(w.ended(srv, s), s)
	}
	w.checkTexts(s, comment)
}

// trigger sets the label or writes the comment, and returns the comment's id.
func (w *world) trigger(s scenario) int64 {
	w.t.Helper()
	if s.Trigger == "label" {
		w.must(w.hub.Label(w.repo.FullName(), w.issue, user, "yudai:solve"))
		return 0
	}
	id, err := w.hub.Comment(w.repo.FullName(), w.issue, user, s.Trigger)
	w.must(err)
	return id
}

// ended waits for the solve's end, and for every text of it where there is still a
// place for texts.
func (w *world) ended(srv *server.Server, s scenario) report.View {
	w.t.Helper()
	if slices.Contains(s.Meanwhile, "delete") || slices.Contains(s.Meanwhile, "transfer") {
		return w.until(srv, 2*time.Minute, func(v report.View) bool { return v.Solve.State.Final() })
	}
	return w.final(srv, 2*time.Minute)
}

func (w *world) checkSolve(v report.View, s scenario) {
	w.t.Helper()
	e := s.Expect
	if string(v.Solve.State) != e.State || !strings.Contains(v.Solve.Reason, e.Reason) {
		w.t.Errorf("solve is %s (%s), want %s %s; runs: %s", v.Solve.State, v.Solve.Reason, e.State, e.Reason, states(v))
	}
	if e.Experiments != 0 && len(v.Runs) != e.Experiments {
		w.t.Errorf("%d experiments, want %d", len(v.Runs), e.Experiments)
	}
	for _, r := range v.Runs {
		if want := e.Runs[r.Experiment.Model]; want != "" && want != string(r.State) {
			w.t.Errorf("run %d (%s) is %s (%s), want %s", r.N, r.Experiment.Model, r.State, r.Reason, want)
		}
	}
	for _, r := range v.Runs {
		w.checkTrajectory(r)
	}
	if e.Champion != "" {
		if v.Solve.Decision == nil || v.Solve.Decision.Champion == 0 {
			w.t.Fatalf("no champion, want %s; runs: %s", e.Champion, states(v))
		}
		if got := v.Runs[v.Solve.Decision.Champion-1].Experiment.Model; got != e.Champion {
			w.t.Errorf("champion %s, want %s", got, e.Champion)
		}
	}
}

// checkTexts looks at what a person sees on GitHub.
func (w *world) checkTexts(s scenario, comment int64) {
	w.t.Helper()
	e := s.Expect
	pulls := w.pulls()
	if len(pulls) != e.Pulls {
		w.t.Errorf("%d pull requests, want %d", len(pulls), e.Pulls)
	}
	texts := w.ourComments()
	if len(pulls) > 0 {
		for _, want := range e.Pull {
			if !strings.Contains(pulls[0].Body, want) {
				w.t.Errorf("the pull request does not say %q:\n%s", want, pulls[0].Body)
			}
		}
		texts = append(texts, pulls[0].Title+"\n"+pulls[0].Body)
		if e.Title != "" && pulls[0].Title != e.Title {
			w.t.Errorf("the pull request's title is %q, want %q", pulls[0].Title, e.Title)
		}
	}
	if e.Silent && len(w.ourComments()) > 0 {
		w.t.Errorf("we commented: %q", w.ourComments())
	}
	all := strings.Join(texts, "\n---\n")
	for _, want := range e.Comments {
		if !strings.Contains(all, want) {
			w.t.Errorf("no comment says %q:\n%s", want, all)
		}
	}
	all += "\n---\n" + w.otherTexts()
	for _, bad := range e.Absent {
		if strings.Contains(all, bad) {
			w.t.Errorf("a text says %q:\n%s", bad, all)
		}
	}
	if e.Reaction != "" && !slices.Contains(w.reactions(comment), e.Reaction) {
		w.t.Errorf("reactions %v, want %s", w.reactions(comment), e.Reaction)
	}
	for _, r := range w.hub.History() {
		if r.Kind == "request" && r.Status >= 500 {
			w.t.Errorf("the emulator failed: %+v", r)
		}
	}
}

// checkTrajectory opens the file that mini-SWE-agent's inspector would.
func (w *world) checkTrajectory(r solve.Run) {
	w.t.Helper()
	if r.Exit == "" || !strings.HasPrefix(r.Experiment.Agent, "mini") {
		return // the agent never came to its end, or writes no such file
	}
	if w.cfg.Store.Engine == "postgres" {
		return // it is no file
	}
	name := filepath.Join(filepath.Dir(w.cfg.Store.Path), "artifacts", string(r.Solve), fmt.Sprintf("run-%d.traj.json", r.N))
	data, err := os.ReadFile(name)
	if err != nil {
		w.t.Errorf("run %d left no trajectory: %v", r.N, err)
		return
	}
	var t struct {
		Format string `json:"trajectory_format"`
		Info   struct {
			ExitStatus string `json:"exit_status"`
		} `json:"info"`
		Messages []map[string]any `json:"messages"`
	}
	if err := json.Unmarshal(data, &t); err != nil || t.Format != "mini-swe-agent-1.1" || t.Info.ExitStatus != r.Exit || len(t.Messages) < 3 {
		w.t.Errorf("trajectory of run %d: %v, format %q, exit %q (want %q), %d messages", r.N, err, t.Format, t.Info.ExitStatus, r.Exit, len(t.Messages))
	}
}
