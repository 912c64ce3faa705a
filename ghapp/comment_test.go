package ghapp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

func TestReplyIsWrittenWithItsMarker(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		const guid = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
		w.store.want(w.reply(guid, "Nothing runs here."))
		stop := w.write("node-1")
		w.settle()
		stop()
		got := w.comments(guid, "reply")
		if len(got) != 1 || got[0].GetBody() != solve.Marker(guid, "reply")+"\nNothing runs here." {
			t.Fatalf("comments: %v", got)
		}
		e := w.store.given(guid, solve.EffectReply, 0)
		if e.Receipt.ID != got[0].GetID() || e.Receipt.URL != got[0].GetHTMLURL() {
			t.Errorf("receipt is %+v", e.Receipt)
		}
	})
}

func TestReactionGoesToTheTriggerOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		id, err := w.hub.Comment("octo/hello", w.issue, "ada", "/yudai solve")
		must(t, err)
		onIssue := solve.Effect{Key: "a/react", Kind: solve.EffectReact, Repo: w.repo, Issue: w.issue, Text: "eyes", Priority: 30}
		onComment := onIssue
		onComment.Key, onComment.CommentID = "b/react", id
		again := onComment
		again.Key = "c/react"
		gone := onComment
		gone.Key, gone.CommentID = "d/react", 999999
		w.store.want(onIssue, onComment, again, gone)
		stop := w.write("node-1")
		w.settle()
		stop()
		api := w.api()
		issue, _, err := api.Reactions.ListIssueReactions(t.Context(), "octo", "hello", w.issue, nil)
		must(t, err)
		comment, _, err := api.Reactions.ListIssueCommentReactions(t.Context(), "octo", "hello", id, nil)
		must(t, err)
		for _, got := range [][]*github.Reaction{issue, comment} {
			if len(got) != 1 || got[0].GetContent() != "eyes" || got[0].GetUser().GetLogin() != "yudai[bot]" {
				t.Errorf("reactions: %v", got)
			}
		}
		if e := w.store.given("c", solve.EffectReact, 0); e.State != solve.EffectApplied {
			t.Errorf("the reaction that was there already: %s %s", e.State, e.Error)
		}
		if e := w.store.given("d", solve.EffectReact, 0); e.State != solve.EffectDead {
			t.Errorf("the reaction on a deleted comment is %s", e.State)
		}
	})
}

// progress is a claimed solve whose comment has been written.
func (w *world) progress(id solve.ID) (s solve.Solve, stop func()) {
	stop = w.write("node-1")
	s = w.newSolve(id)
	w.store.put(s, solve.EventClaimed)
	w.settle()
	return s, stop
}

func TestDeletedCommentIsMadeAnew(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s, stop := w.progress("d0000000000000000001")
		first := w.store.given(s.ID, solve.EffectNotice, 0).Receipt.ID
		must(t, w.hub.DeleteComment("octo/hello", first, "ada"))
		pass(w.cfg.Write.Settle)
		s.State = solve.StateRunning
		w.store.put(s, solve.EventBaseReady)
		w.settle()
		stop()
		got := w.comments(string(s.ID), "comment")
		if len(got) != 1 || got[0].GetID() == first || got[0].GetID() != w.store.given(s.ID, solve.EffectNotice, 0).Receipt.ID {
			t.Errorf("comments: %v", got)
		}
	})
}

func TestAForeignMarkerIsNotAdopted(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		const id = "d0000000000000000001"
		fake, err := w.hub.Comment("octo/hello", w.issue, "ada", solve.Marker(id, "comment")+"\nmine")
		must(t, err)
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultCutBefore, Method: "POST", Path: "comments$"})
		_, stop := w.progress(id)
		stop()
		if got := w.comments(id, "comment"); len(got) != 1 || got[0].GetID() == fake {
			t.Errorf("comments: %v", got)
		}
		c, _, err := w.api().Issues.GetComment(t.Context(), "octo", "hello", fake)
		must(t, err)
		if !strings.HasSuffix(c.GetBody(), "mine") {
			t.Errorf("somebody else's comment was changed to %q", c.GetBody())
		}
	})
}

// TestLateDoubleIsRemoved lets GitHub's lists lag for longer than the writer
// allows for: the second comment and check run that follow are found and taken
// back when they are made.
func TestLateDoubleIsRemoved(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		const id = "d0000000000000000001"
		w.hub.SetLag(40 * time.Second) // above settle
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultLostAnswer, Method: "POST", Path: "comments$"})
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultLostAnswer, Method: "POST", Path: "check-runs$"})
		// The verification comes later than the lag.
		slow := 0
		w.store.sending = func(e solve.Effect) {
			if e.Kind == solve.EffectNotice || e.Kind == solve.EffectCheck {
				slow++
			}
		}
		w.store.mu.Lock()
		w.store.mu.Unlock()
		s, stop := w.progress(id)
		pass(time.Minute)
		if n := len(w.comments(id, "comment")); n != 2 {
			t.Errorf("%d comments: the test does not make what it is about", n)
		}
		// A lost answer to the next creation makes it look again, and tidy up.
		w.hub.SetLag(0)
		must(t, w.hub.DeleteComment("octo/hello", w.store.given(id, solve.EffectNotice, 0).Receipt.ID, "ada"))
		s.State = solve.StateRunning
		w.store.put(s, solve.EventBaseReady)
		w.settle()
		stop()
		got := w.comments(id, "comment")
		if len(got) != 1 || got[0].GetID() != w.store.given(id, solve.EffectNotice, 0).Receipt.ID {
			t.Errorf("comments: %v", got)
		}
	})
}
