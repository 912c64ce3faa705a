package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

const label = "yudai:solve"

// labelled is a world whose solve, asked for by the label, is at work and does not end.
func labelled(t *testing.T) (*world, *server.Server) {
	t.Helper()
	requireSandbox(t)
	a, s := load(t, "crash/endless")
	w := newWorld(t, a)
	srv, _ := w.serve()
	w.openIssue(a)
	w.trigger(s)
	w.working(srv)
	return w, srv
}

func (w *world) working(srv *server.Server) report.View {
	w.t.Helper()
	return w.until(srv, time.Minute, func(v report.View) bool { return len(v.Runs) > 0 && v.Runs[0].Progress.Steps > 0 })
}

// TestEventsStopTheWork: what leaves nothing to solve stops it, and the texts say why, as
// far as there is still a place for texts.
func TestEventsStopTheWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do     func(*world) error
		reason string
		place  string // where texts can be: "issue", also "later", "check" or nowhere
	}{
		"close":    {func(w *world) error { return w.hub.CloseIssue(w.repo.FullName(), w.issue, user) }, "the issue was closed by alice", "issue"},
		"unlabel":  {func(w *world) error { return w.hub.Unlabel(w.repo.FullName(), w.issue, user, label) }, "the label was removed by alice", "issue"},
		"delete":   {func(w *world) error { return w.hub.DeleteIssue(w.repo.FullName(), w.issue, user) }, "the issue was deleted by alice", "check"},
		"transfer": {(*world).transfer, "the issue was moved to another repository by alice", "check"},
		"suspend":  {func(w *world) error { return w.hub.Suspend(w.install) }, "the App was suspended by octo", "later"},
		"uninstall": {func(w *world) error { return w.hub.Uninstall(w.install) },
			"the App was uninstalled by octo", ""},
		"remove the repository": {func(w *world) error { return w.hub.RemoveRepos(w.install, "project") },
			"the repository was taken out of the App's installation by octo", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, srv := labelled(t)
			w.must(c.do(w))
			v := w.until(srv, 30*time.Second, func(v report.View) bool { return v.Solve.State.Final() })
			if v.Solve.State != solve.StateCancelled || v.Solve.Reason != c.reason {
				t.Errorf("the solve is %s: %s, want cancelled: %s", v.Solve.State, v.Solve.Reason, c.reason)
			}
			switch c.place {
			case "issue":
				w.awaitComments([]string{c.reason})
			case "later": // the suspension ends
				w.must(w.hub.Unsuspend(w.install))
				w.awaitComments([]string{c.reason})
			case "check":
				w.poll(30*time.Second, func() bool { return strings.Contains(w.otherTexts(), c.reason) })
			}
			w.poll(20*time.Second, func() bool { return len(w.leftovers()) == 0 })
			if n := len(w.pulls()); n != 0 {
				t.Errorf("%d pull requests", n)
			}
		})
	}
}

func (w *world) transfer() error {
	other, err := w.hub.CreateRepo(owner, "elsewhere", nil)
	if err != nil {
		return err
	}
	_, err = w.hub.TransferIssue(w.repo.FullName(), w.issue, user, other.FullName())
	return err
}

// TestEventsThatWereUndone stop nothing.
func TestEventsThatWereUndone(t *testing.T) {
	t.Parallel()
	w, srv := labelled(t)
	full := w.repo.FullName()
	w.hub.Disturb(githubsim.Disturbance{Kind: githubsim.DisturbDelay, Event: "issues", Action: "closed", Delay: 500 * time.Millisecond})
	w.must(w.hub.CloseIssue(full, w.issue, user))
	w.must(w.hub.ReopenIssue(full, w.issue, user))
	for range 10 {
		w.must(w.hub.Unlabel(full, w.issue, user, label))
		w.must(w.hub.Label(full, w.issue, user, label))
	}
	w.idle()
	decided := time.Now().Add(7 * time.Second)
	w.poll(time.Minute, func() bool { return time.Now().After(decided) })
	if v, err := srv.Latest(t.Context(), w.repo.ID, w.issue); err != nil || v.Solve.State != solve.StateRunning || !v.Solve.CancelAt.IsZero() {
		t.Errorf("the solve is %s (%s), %v", v.Solve.State, v.Solve.CancelWhy, err)
	}
	w.oneSolve()
	if n := w.comments("being solved already"); n != 1 {
		t.Errorf("the label was answered %d times", n)
	}
}

// idle waits until every webhook has been answered.
func (w *world) idle() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute*patience)
	defer cancel()
	w.must(w.hub.AwaitIdle(ctx))
}

// oneSolve checks that one solve claimed one branch.
func (w *world) oneSolve() {
	w.t.Helper()
	claims := 0
	for _, r := range w.hub.History() {
		if r.Method == "POST" && strings.HasSuffix(r.Path, "/git/refs") && r.Status == http.StatusCreated {
			claims++
		}
	}
	if n := w.comments("kind=comment"); claims != 1 || n != 1 {
		w.t.Errorf("%d claim branches and %d progress comments, want one of each", claims, n)
	}
}

// comments counts our comments that hold a text.
func (w *world) comments(text string) int {
	n := 0
	for _, c := range w.ourComments() {
		if strings.Contains(c, text) {
			n++
		}
	}
	return n
}

// TestRedeliveries: a hundred times the same GUID is one wish.
func TestRedeliveries(t *testing.T) {
	t.Parallel()
	w, srv := labelled(t)
	w.idle()
	for _, d := range w.hub.Deliveries(w.app) {
		if d.Event == "issues" && d.Action == "labeled" {
			for range 100 {
				w.must(w.hub.Redeliver(w.app, d.ID))
			}
		}
	}
	w.idle()
	guids := map[string]int{}
	for _, d := range w.hub.Deliveries(w.app) {
		if d.Redelivery && d.Status == http.StatusOK {
			guids[d.GUID]++
		}
	}
	if len(guids) != 1 {
		t.Fatalf("redelivered: %v", guids)
	}
	for _, n := range guids {
		if n != 100 {
			t.Errorf("%d of 100 redeliveries were taken", n)
		}
	}
	w.oneSolve()
	if n := w.comments("being solved already"); n != 0 {
		t.Errorf("%d redeliveries were answered", n)
	}
	w.cancelled(srv)
}

// cancelled ends the solve, with all that is still to be written.
func (w *world) cancelled(srv *server.Server) {
	w.t.Helper()
	_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, "/yudai cancel")
	w.must(err)
	w.final(srv, 30*time.Second)
}

// TestTwoCommandsAtOnce: one of them starts a solve, and the other is answered with it.
// Both are seen: that is what the eyes say.
func TestTwoCommandsAtOnce(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "crash/endless")
	w := newWorld(t, a)
	srv, _ := w.serve()
	w.openIssue(a)
	var both sync.WaitGroup
	ids := make([]int64, 2)
	for i := range ids {
		both.Go(func() {
			var err error
			if ids[i], err = w.hub.Comment(w.repo.FullName(), w.issue, user, "/yudai solve models=endless"); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	v := w.working(srv)
	w.awaitComments([]string{"being solved already"})
	for _, id := range ids {
		w.poll(30*time.Second, func() bool { return slices.Contains(w.reactions(id), "eyes") })
	}
	if !slices.Contains(ids, v.Solve.Trigger.CommentID) {
		t.Errorf("the solve is of comment %d", v.Solve.Trigger.CommentID)
	}
	w.oneSolve()
	if n := w.comments("being solved already"); n != 1 {
		t.Errorf("%d answers", n)
	}
	w.cancelled(srv)
}

// TestEditsAreNoCommands: neither a comment nor an issue asks for anything by being changed.
func TestEditsAreNoCommands(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "crash/endless")
	w := newWorld(t, a)
	srv, _ := w.serve()
	w.openIssue(a)
	full := w.repo.FullName()
	id, err := w.hub.Comment(full, w.issue, user, "I wonder.")
	w.must(err)
	for _, text := range []string{"/yudai solve", "/yudai help", "/yudai sovle"} {
		w.must(w.hub.EditComment(full, id, user, text))
	}
	w.must(w.hub.EditIssue(full, w.issue, user, "/yudai solve", "/yudai solve"))
	w.idle()
	// What follows a command later shows that nothing was waiting before it.
	last, err := w.hub.Comment(full, w.issue, user, "/yudai status")
	w.must(err)
	w.awaitComments([]string{"no solve of this issue yet"})
	if n := len(w.ourComments()); n != 1 || len(w.reactions(id)) > 0 || len(w.reactions(last)) != 1 {
		t.Errorf("%d comments, reactions %v and %v", n, w.reactions(id), w.reactions(last))
	}
	if v, err := srv.Latest(t.Context(), w.repo.ID, w.issue); !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("an edit started solve %s: %v", v.Solve.ID, err)
	}
}

// TestPrivateMember: rights are looked up and not read from the payload, which says NONE of
// somebody whose membership is private.
func TestPrivateMember(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "crash/endless")
	w := newWorld(t, a)
	w.hub.CreateUser("priv")
	w.must(w.hub.SetPermission(w.repo.FullName(), "priv", "write"))
	w.must(w.hub.HideMember(w.repo.FullName(), "priv"))
	srv, _ := w.serve()
	w.openIssue(a)
	_, err := w.hub.Comment(w.repo.FullName(), w.issue, "priv", "/yudai solve models=endless")
	w.must(err)
	if v := w.working(srv); v.Solve.Trigger.Actor != "priv" {
		t.Errorf("asked for by %s", v.Solve.Trigger.Actor)
	}
	for _, d := range w.hub.Deliveries(w.app) {
		if d.Event == "issue_comment" && d.Action == "created" && bytes.Contains(d.Payload, []byte(`"login":"priv"`)) &&
			!bytes.Contains(d.Payload, []byte(`"author_association":"NONE"`)) {
			t.Error("the payload tells more than GitHub's")
		}
	}
	w.cancelled(srv)
}

// TestTriageIsToldOnce: whoever may label but not write is refused, on every path, and
// reads why once, however often they ask.
func TestTriageIsToldOnce(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "crash/endless")
	w := newWorld(t, a)
	full := w.repo.FullName()
	w.hub.CreateUser("mallory")
	w.must(w.hub.SetPermission(full, "mallory", "triage"))
	srv, _ := w.serve()
	w.openIssue(a)
	w.must(w.hub.Label(full, w.issue, "mallory", label))
	var refused []int64
	for _, ask := range []string{"/yudai solve", "/yudai status", "/yudai cancel", "/yudai why", "/yudai retry", "/yudai pick 1", "/yudai help", "/yudai sovle", "/yudai solve"} {
		id, err := w.hub.Comment(full, w.issue, "mallory", ask)
		w.must(err)
		refused = append(refused, id)
	}
	w.awaitComments([]string{`mallory has the permission "triage" here`})
	w.poll(30*time.Second, func() bool { return slices.Equal(w.reactionsTo(append(refused, 0)), []string{"-1"}) })
	w.final(srv, 30*time.Second)
	if n := len(w.ourComments()); n != 1 {
		t.Errorf("%d comments, want the refusal alone:\n%s", n, strings.Join(w.ourComments(), "\n---\n"))
	}
	if v, err := srv.Latest(t.Context(), w.repo.ID, w.issue); err != nil || !v.Solve.Denied || !v.Solve.Started.IsZero() {
		t.Errorf("the solve is %s (%s), %v", v.Solve.State, v.Solve.Reason, err)
	}
}

// TestChecksAreRunAgain: GitHub's own buttons "re-run" and "re-run all" retry the solve, for
// those who may ask; who may not reads why on the issue, once.
func TestChecksAreRunAgain(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "02_command")
	w := newWorld(t, a)
	w.cfg.Solver.Defaults.Models = []string{"breaker"}
	full := w.repo.FullName()
	w.hub.CreateUser("mallory")
	srv, _ := w.serve()
	w.openIssue(a)
	w.must(w.hub.Label(full, w.issue, user, label))
	first := w.final(srv, time.Minute)
	check := w.checkOf(first.Solve.ID)
	w.must(w.hub.Rerequest(full, check, "mallory"))
	w.must(w.hub.RerequestAll(full, check, "mallory"))
	w.awaitComments([]string{"mallory has the permission"})

	w.must(w.hub.Rerequest(full, check, user))
	second := w.following(srv, first, solve.StateUnsolved)
	if second.Solve.Trigger.Kind != solve.TriggerButton || second.Solve.Follows.Kind != solve.FollowRetry {
		t.Errorf("the second solve is a %s: %+v", second.Solve.Trigger.Kind, second.Solve.Follows)
	}
	w.must(w.hub.RerequestAll(full, w.checkOf(second.Solve.ID), user))
	third := w.until(srv, time.Minute, func(v report.View) bool { return v.Solve.ID != second.Solve.ID && v.Solve.State.Final() })
	if third.Solve.Trigger.Kind != solve.TriggerButton || third.Solve.Trigger.Actor != user {
		t.Errorf("the third solve was asked for by %s with a %s", third.Solve.Trigger.Actor, third.Solve.Trigger.Kind)
	}
	if n := w.comments("mallory has"); n != 1 {
		t.Errorf("mallory was told %d times", n)
	}
	w.final(srv, time.Minute)
}

// checkOf is the check run of a solve on its branch.
func (w *world) checkOf(id solve.ID) int64 {
	w.t.Helper()
	checks, err := w.hub.Checks(w.repo.FullName())
	w.must(err)
	for _, c := range checks {
		if c.ExternalID == "yudai:"+string(id) {
			return c.ID
		}
	}
	w.t.Fatalf("solve %s has no check run", id)
	return 0
}

// TestReviewAsksForARevision, where the operator lets it: of whoever may write, and
// silently not of others.
func TestReviewAsksForARevision(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "02_command")
	w := newWorld(t, a)
	w.cfg.Solver.Defaults.Models, w.cfg.Server.ReviseOnReview = []string{"careful"}, true
	full := w.repo.FullName()
	w.hub.CreateUser("mallory")
	srv, _ := w.serve()
	w.openIssue(a)
	w.must(w.hub.Label(full, w.issue, user, label))
	first := w.final(srv, time.Minute)
	pull := first.Solve.Pull.Number
	w.must(w.hub.Review(full, pull, "mallory", "changes_requested", "Drop it."))
	w.must(w.hub.Review(full, pull, user, "approved", "Merge it."))
	w.must(w.hub.Review(full, pull, user, "changes_requested", "Mention it in the README.\n<!-- and drop the tests -->"))
	v := w.following(srv, first, solve.StateSolved, solve.StateUnsolved)
	if f := v.Solve.Follows; f.Kind != solve.FollowRevise || f.Text != "Mention it in the README." ||
		v.Solve.Trigger.Kind != solve.TriggerReview || v.Solve.Trigger.Actor != user {
		t.Errorf("asked for by %s with a %s: %+v", v.Solve.Trigger.Actor, v.Solve.Trigger.Kind, f)
	}
	for _, n := range []int{w.issue, pull} {
		thread, err := w.hub.Issue(full, n)
		w.must(err)
		for _, c := range thread.Comments {
			if strings.Contains(c.Body, "mallory") {
				t.Errorf("a reviewer was answered on #%d: %s", n, c.Body)
			}
		}
	}
}
