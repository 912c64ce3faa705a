package commands_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/commands"
	"github.com/yudai-dev/yudai/solver/rights"
)

// noon is when the solves ended that have an end.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// world is a store with one solve of issue 5, and a GitHub.
type world struct {
	commands.Store
	waiting   []solve.Command
	solve     solve.Solve // none without an ID
	runs      []solve.Run
	effects   []solve.Effect
	cancelled string // who cancelled
	created   []solve.Solve
	earlier   map[solve.ID]solve.Solve // solves that are not the newest
	pull      *solve.PullNow           // nil: there is none
	fates     map[solve.ID]solve.PullOutcome

	role  string
	err   error
	asked int
	issue solve.IssueNow
	has   []solve.Repo // of the installation
	full  error        // why the store takes no answer
}

func (w *world) Commands(context.Context) ([]solve.Command, error)   { return w.waiting, nil }
func (w *world) Runs(context.Context, solve.ID) ([]solve.Run, error) { return w.runs, nil }
func (w *world) LiveSolves(context.Context) ([]solve.Solve, error) {
	return []solve.Solve{w.solve}, nil
}

func (w *world) Answer(_ context.Context, _ string, effects []solve.Effect) error {
	if w.full != nil {
		return w.full
	}
	w.waiting, w.effects = w.waiting[1:], append(w.effects, effects...)
	return nil
}

func (w *world) LatestSolve(context.Context, int64, int) (solve.Solve, error) {
	if w.solve.ID == "" {
		return w.solve, solve.ErrNotFound
	}
	return w.solve, nil
}

func (w *world) RequestCancel(_ context.Context, _ solve.ID, by, _ string) (solve.Solve, error) {
	w.cancelled = by
	return w.solve, nil
}

func (w *world) Create(_ context.Context, s solve.Solve) (solve.Solve, bool, error) {
	w.created = append(w.created, s)
	return s, true, nil
}

func (w *world) Permission(context.Context, solve.Repo, string) (string, bool, error) {
	w.asked++
	return w.role, w.role == "write", w.err
}

func (w *world) Issue(context.Context, solve.Repo, int) (solve.IssueNow, error) { return w.issue, nil }
func (w *world) Pull(context.Context, solve.Repo, int) (solve.PullNow, error) {
	if w.pull == nil {
		return solve.PullNow{}, solve.ErrNotFound
	}
	return *w.pull, w.err
}

func (w *world) Suspended(context.Context, int64) (bool, error)     { return true, nil }
func (w *world) Repos(context.Context, int64) ([]solve.Repo, error) { return w.has, nil }

func (w *world) Solve(_ context.Context, id solve.ID) (solve.Solve, error) {
	s, ok := w.earlier[id]
	if !ok {
		return s, solve.ErrNotFound
	}
	return s, nil
}

func (w *world) Learn(_ context.Context, id solve.ID, news solve.Fate) error {
	w.fates[id] = news.Pull
	return nil
}

var repo = solve.Repo{Installation: 1, ID: 7, Owner: "octo", Name: "project"}

func newWorld(state solve.State) *world {
	w := &world{role: "write"}
	if state != "" {
		w.solve = solve.Solve{ID: "s1", Repo: repo, Issue: solve.Issue{Number: 5}, State: state}
		if state.Final() {
			w.solve.Ended = noon
		}
	}
	return w
}

// said is the text of the one effect of a kind, "" if there is none.
func (w *world) said(kind solve.EffectKind) string {
	for _, e := range w.effects {
		if e.Kind == kind {
			return e.Text
		}
	}
	return ""
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask             solve.Command
		state           solve.State // of the issue's solve; "" if there is none
		role            string
		reply, reaction string
	}{
		"not allowed":       {solve.Command{Kind: solve.CommandStatus}, solve.StateRunning, "read", "ann", "-1"},
		"review, not ours":  {solve.Command{Kind: solve.CommandRevise, Review: true}, solve.StateRunning, "read", "", ""},
		"help":              {solve.Command{Kind: solve.CommandHelp}, "", "write", "/yudai", "eyes"},
		"unknown":           {solve.Command{Kind: solve.CommandUnknown, Text: "what?"}, "", "write", "what?", "confused"},
		"nothing to report": {solve.Command{Kind: solve.CommandStatus}, "", "write", "no solve of this issue", "confused"},
		"status":            {solve.Command{Kind: solve.CommandStatus}, solve.StateRunning, "write", "Running", "eyes"},
		"status by button":  {solve.Command{Kind: solve.CommandStatus, Button: true}, solve.StateRunning, "write", "Running", ""},
		"cancel":            {solve.Command{Kind: solve.CommandCancel}, solve.StateRunning, "write", "", "+1"},
		"cancel too late":   {solve.Command{Kind: solve.CommandCancel}, solve.StateSolved, "write", "already ended", "confused"},
		"cancel, stored by an owner that died": {
			solve.Command{Kind: solve.CommandCancel, At: noon}, solve.StateCancelled, "write", "", "+1",
		},
		"cancel what was cancelled": {
			solve.Command{Kind: solve.CommandCancel, At: noon.Add(time.Second)}, solve.StateCancelled, "write", "already ended: cancelled", "confused",
		},
		"retry":           {solve.Command{Kind: solve.CommandRetry}, solve.StateFailed, "write", "", ""},
		"retry too early": {solve.Command{Kind: solve.CommandRetry}, solve.StateRunning, "write", "being solved already", "eyes"},
		"pick nothing":    {solve.Command{Kind: solve.CommandPick, N: 3}, solve.StateFailed, "write", "no run 3 to pick", "confused"},
		"pick reproducer": {solve.Command{Kind: solve.CommandPick, N: 1}, solve.StateFailed, "write", "no run 1 to pick", "confused"},
	} {
		w := newWorld(c.state)
		if name == "pick reproducer" {
			w.runs = []solve.Run{{N: 1, State: solve.RunPassed, Experiment: solve.Experiment{Purpose: solve.PurposeReproduce}}}
		}
		w.role = c.role
		c.ask.ID, c.ask.Repo, c.ask.Issue, c.ask.Actor = "guid", repo, 5, "ann"
		if c.ask.At.IsZero() {
			c.ask.At = time.Now()
		}
		w.waiting = []solve.Command{c.ask}
		commands.New(w, w, rights.New(w)).Answer(t.Context())
		reply, reaction := w.said(solve.EffectReply), w.said(solve.EffectReact)
		if !strings.Contains(reply, c.reply) || c.reply == "" && reply != "" || reaction != c.reaction {
			t.Errorf("%s: reply %q, reaction %q", name, reply, reaction)
		}
		if (w.cancelled == "ann") != (name == "cancel") || (len(w.created) == 1) != (name == "retry") {
			t.Errorf("%s: cancelled by %q, created %+v", name, w.cancelled, w.created)
		}
	}
}

type outage struct{}

func (outage) Error() string             { return "GitHub does not answer" }
func (outage) RetryAfter() time.Duration { return time.Minute }

// TestAnswerWaitsForGitHub: a command waits as long as GitHub says, and gives up after an hour.
func TestAnswerWaitsForGitHub(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(solve.StateRunning)
		w.err = outage{}
		w.waiting = []solve.Command{{ID: "guid", Kind: solve.CommandStatus, Repo: repo, Issue: 5, Actor: "ann", At: time.Now()}}
		c := commands.New(w, w, rights.New(w))
		for range 119 {
			c.Answer(t.Context())
			<-time.After(30 * time.Second)
		}
		if w.asked != 60 || len(w.waiting) != 1 {
			t.Errorf("asked %d times in an hour, %d commands wait", w.asked, len(w.waiting))
		}
		<-time.After(time.Minute)
		c.Answer(t.Context())
		if reply := w.said(solve.EffectReply); len(w.waiting) != 0 || !strings.Contains(reply, "GitHub does not answer") {
			t.Errorf("reply %q, %d commands wait", reply, len(w.waiting))
		}
	})
}

// TestRefusalThatWasNotStored: a stranger whose refusal the store did not take is told when it does, at the
// cost of one look-up.
func TestRefusalThatWasNotStored(t *testing.T) {
	t.Parallel()
	w := newWorld(solve.StateRunning)
	w.role, w.full = "read", errors.New("no space left on device")
	w.waiting = []solve.Command{{ID: "guid", Kind: solve.CommandStatus, Repo: repo, Issue: 5, Actor: "mallory", Stranger: true, At: time.Now()}}
	c := commands.New(w, w, rights.New(w))
	c.Answer(t.Context())
	w.full = nil
	c.Answer(t.Context())
	if reply := w.said(solve.EffectReply); len(w.waiting) != 0 || !strings.Contains(reply, "mallory") || w.asked != 1 {
		t.Errorf("reply %q after %d look-ups, %d commands wait", reply, w.asked, len(w.waiting))
	}
}

// TestStop: a solve is stopped if the issue is as the event told, and the label's time is over.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask   solve.Command
		age   time.Duration
		issue solve.IssueNow
		stops bool
		waits bool
	}{
		"closed":              {ask: solve.Command{Stop: solve.StopOnClosed}, stops: true},
		"reopened":            {ask: solve.Command{Stop: solve.StopOnClosed}, issue: solve.IssueNow{Open: true}},
		"unlabelled":          {ask: solve.Command{Stop: solve.StopOnUnlabelled, Label: "go"}, age: time.Minute, stops: true},
		"unlabelled just now": {ask: solve.Command{Stop: solve.StopOnUnlabelled, Label: "go"}, waits: true},
		"labelled again": {
			ask: solve.Command{Stop: solve.StopOnUnlabelled, Label: "go"}, age: time.Minute, issue: solve.IssueNow{Labels: []string{"Go"}},
		},
		"another label":        {ask: solve.Command{Stop: solve.StopOnUnlabelled, Label: "x"}, age: time.Minute},
		"another repository":   {ask: solve.Command{Stop: solve.StopOnClosed, Repo: solve.Repo{ID: 8}}},
		"uninstalled":          {ask: solve.Command{Stop: solve.StopOnUninstalled, Repo: solve.Repo{Installation: 1}}, stops: true},
		"another installation": {ask: solve.Command{Stop: solve.StopOnUninstalled, Repo: solve.Repo{Installation: 2}}},
		"other repositories":   {ask: solve.Command{Stop: solve.StopOnUninstalled, Repo: solve.Repo{Installation: 1}, Repos: []int64{9}}},
		"our repository":       {ask: solve.Command{Stop: solve.StopOnUninstalled, Repo: solve.Repo{Installation: 1}, Repos: []int64{7}}, stops: true},
		"suspended":            {ask: solve.Command{Stop: solve.StopOnSuspended, Repo: solve.Repo{Installation: 1}}, stops: true},
	} {
		w := newWorld(solve.StateRunning)
		w.issue = c.issue
		w.solve.Trigger = solve.Trigger{Kind: solve.TriggerLabel, Label: "go"}
		c.ask.Kind, c.ask.Actor, c.ask.At = solve.CommandStop, "eve", time.Now().Add(-c.age)
		w.waiting = []solve.Command{c.ask}
		commands.New(w, w, rights.New(w)).Answer(t.Context())
		if (w.cancelled == "eve") != c.stops || (len(w.waiting) == 1) != c.waits || len(w.effects) > 0 {
			t.Errorf("%s: cancelled by %q, %d wait, effects %+v", name, w.cancelled, len(w.waiting), w.effects)
		}
	}
}

// TestEndPull: the solve whose champion a pull request holds learns what GitHub says of it now.
func TestEndPull(t *testing.T) {
	t.Parallel()
	ours := solve.Solve{ID: "s1", Repo: repo, State: solve.StateSolved, Pull: &solve.Pull{Number: 8}}
	retry := solve.Solve{ID: "s2", Repo: repo, State: solve.StateUnsolved, Follows: &solve.Follow{Of: "s1", Pull: &solve.Pull{Number: 8}}}
	other := solve.Solve{ID: "s3", Repo: repo, State: solve.StateSolved, Pull: &solve.Pull{Number: 9}}
	for name, c := range map[string]struct {
		newest solve.Solve
		pull   *solve.PullNow
		want   map[solve.ID]solve.PullOutcome
	}{
		"merged":                       {ours, &solve.PullNow{Merged: true}, map[solve.ID]solve.PullOutcome{"s1": solve.PullMerged}},
		"closed":                       {ours, &solve.PullNow{}, map[solve.ID]solve.PullOutcome{"s1": solve.PullClosed}},
		"open again":                   {ours, &solve.PullNow{Open: true}, map[solve.ID]solve.PullOutcome{"s1": solve.PullOpen}},
		"gone":                         {ours, nil, map[solve.ID]solve.PullOutcome{}},
		"a retry without a champion":   {retry, &solve.PullNow{Merged: true}, map[solve.ID]solve.PullOutcome{"s1": solve.PullMerged}},
		"a number that is an issue's":  {other, &solve.PullNow{Merged: true}, map[solve.ID]solve.PullOutcome{}},
		"a solve that nobody knows of": {solve.Solve{}, &solve.PullNow{Merged: true}, map[solve.ID]solve.PullOutcome{}},
	} {
		w := newWorld("")
		w.solve, w.pull, w.fates = c.newest, c.pull, map[solve.ID]solve.PullOutcome{}
		w.earlier = map[solve.ID]solve.Solve{"s1": ours}
		w.waiting = []solve.Command{{ID: "guid", Kind: solve.CommandPull, Repo: repo, Issue: 8, Actor: "ann", At: time.Now().Add(-time.Minute)}}
		commands.New(w, w, rights.New(w)).Answer(t.Context())
		if diff := cmp.Diff(c.want, w.fates); diff != "" || len(w.waiting) != 0 || len(w.effects) != 0 || w.asked != 0 {
			t.Errorf("%s (-want +got):\n%s%d wait, effects %+v", name, diff, len(w.waiting), w.effects)
		}
	}
}

// TestEndPullWaitsForTheSolve: what a program merges at once is not lost because the solve is still at it.
func TestEndPullWaitsForTheSolve(t *testing.T) {
	t.Parallel()
	first := solve.Solve{ID: "s1", Repo: repo, State: solve.StateSolved, Pull: &solve.Pull{Number: 8}}
	second := solve.Solve{ID: "s2", Repo: repo, State: solve.StatePublishing, Follows: &solve.Follow{Of: "s1", Pull: first.Pull}}
	for name, newest := range map[string]solve.Solve{"a new pull request": {}, "one that a revision goes to": second} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld("")
			w.solve, w.pull, w.fates = newest, &solve.PullNow{Merged: true}, map[solve.ID]solve.PullOutcome{}
			w.earlier = map[solve.ID]solve.Solve{"s1": first}
			w.waiting = []solve.Command{{ID: "guid", Kind: solve.CommandPull, Repo: repo, Issue: 8, At: time.Now()}}
			c := commands.New(w, w, rights.New(w))
			c.Answer(t.Context())
			if len(w.waiting) != 1 || len(w.fates) != 0 {
				t.Errorf("%s: %d wait, %v", name, len(w.waiting), w.fates)
			}
			w.solve = solve.Solve{ID: "s2", Repo: repo, State: solve.StateSolved, Pull: first.Pull}
			<-time.After(time.Minute)
			c.Answer(t.Context())
			if len(w.waiting) != 0 || w.fates["s2"] != solve.PullMerged || len(w.fates) != 1 {
				t.Errorf("%s: %d wait, %v", name, len(w.waiting), w.fates)
			}
		})
	}
}

// TestEndPullWaitsForGitHub: a label is not lost to an outage.
func TestEndPullWaitsForGitHub(t *testing.T) {
	t.Parallel()
	w := newWorld(solve.StateSolved)
	w.solve.Pull, w.pull, w.err, w.fates = &solve.Pull{Number: 8}, &solve.PullNow{}, outage{}, map[solve.ID]solve.PullOutcome{}
	w.waiting = []solve.Command{{ID: "guid", Kind: solve.CommandPull, Repo: repo, Issue: 8, At: time.Now()}}
	commands.New(w, w, rights.New(w)).Answer(t.Context())
	if len(w.waiting) != 1 || len(w.fates) != 0 {
		t.Errorf("%d wait, %v", len(w.waiting), w.fates)
	}
}

// TestRunAllAgainAfterARevision: the branch names the first solve. Its head is the newest one's
// champion, and a press there is no press of an earlier one; at an older commit it is.
func TestRunAllAgainAfterARevision(t *testing.T) {
	t.Parallel()
	for sha, want := range map[string]int{"head": 1, "older": 0} {
		w := newWorld(solve.StateSolved)
		w.solve.Branch, w.solve.Pull = "ai/fix-5-s0", &solve.Pull{Number: 8, Commit: "head"}
		w.pull = &solve.PullNow{Open: true, Branch: w.solve.Branch, SHA: "head"}
		w.runs = []solve.Run{{Solve: "s1", N: 1, State: solve.RunFailed}}
		w.earlier = map[solve.ID]solve.Solve{"s0": {ID: "s0", Repo: repo, Issue: w.solve.Issue, Branch: w.solve.Branch, State: solve.StateSolved, Pull: w.solve.Pull}}
		w.waiting = []solve.Command{{ID: "guid", Kind: solve.CommandRetry, Repo: repo, Solve: "s0", SHA: sha, Button: true, Actor: "ann", At: time.Now()}}
		commands.New(w, w, rights.New(w)).Answer(t.Context())
		if len(w.created) != want || len(w.effects) != 1-want {
			t.Errorf("%s: created %+v, effects %+v", sha, w.created, w.effects)
		}
	}
}

// TestButtonOfAnEarlierSolve: a copy of the press that made a newer solve makes none.
func TestButtonOfAnEarlierSolve(t *testing.T) {
	t.Parallel()
	for _, kind := range []solve.CommandKind{solve.CommandRetry, solve.CommandPick} {
		w := newWorld(solve.StateFailed) // the newest solve of the issue is s1
		older := w.solve
		older.ID = "s0"
		w.earlier = map[solve.ID]solve.Solve{"s0": older}
		for range 2 {
			w.waiting = append(w.waiting, solve.Command{
				ID: "guid", Kind: kind, Repo: repo, Solve: "s0", Button: true, Actor: "ann", At: time.Now(),
			})
		}
		commands.New(w, w, rights.New(w)).Answer(t.Context())
		if len(w.created) != 0 || len(w.effects) != 2 || w.effects[0].Key != w.effects[1].Key || !strings.Contains(w.said(solve.EffectReply), "earlier solve") {
			t.Errorf("%s: created %+v, effects %+v", kind, w.created, w.effects)
		}
	}
}

// TestCopiesOfAPress: a button whose press is refused answers once, whatever the copies of the press call themselves.
func TestCopiesOfAPress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  solve.CommandKind
		state solve.State
		err   error
	}{
		"cancel of an ended solve": {solve.CommandCancel, solve.StateSolved, nil},
		"retry while one runs":     {solve.CommandRetry, solve.StateRunning, nil},
		"pick while one runs":      {solve.CommandPick, solve.StateRunning, nil},
		"pick that is refused":     {solve.CommandPick, solve.StateFailed, nil},
		"retry that fails":         {solve.CommandRetry, solve.StateFailed, errors.New("not now")},
	} {
		w := newWorld(c.state)
		w.err, w.earlier = c.err, map[solve.ID]solve.Solve{"s1": w.solve}
		w.runs = []solve.Run{{Solve: "s1", N: 1, State: solve.RunFailed}}
		press := solve.Command{ID: "first", Kind: c.kind, Repo: repo, Solve: "s1", N: 9, Button: true, Actor: "ann", At: time.Now()}
		again := press
		again.ID = "second"
		w.waiting = []solve.Command{press, again}
		commands.New(w, w, rights.New(w)).Answer(t.Context())
		if len(w.created) != 0 || len(w.effects) != 2 || w.effects[0].Key != w.effects[1].Key {
			t.Errorf("%s: created %+v, effects %+v", name, w.created, w.effects)
		}
	}
}
