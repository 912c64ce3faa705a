package ghapp_test

import (
	"strings"
	"sync"
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

// TestRefusalIsRenderedWhenItIsWritten: its text is the reason of its solve, made safe.
func TestRefusalIsRenderedWhenItIsWritten(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		s := w.newSolve("d1")
		s.State, s.Refused, s.Reason, s.Started = solve.StateFailed, true, "no rights, @octocat", time.Time{}
		w.store.put(s, solve.EventFailed)
		stop := w.write("node-1")
		w.settle()
		stop()
		got := w.comments("d1", "reply")
		if len(got) != 1 || got[0].GetBody() != solve.Marker("d1", "reply")+"\nno rights, @\u200boctocat" {
			t.Errorf("comments: %v", got)
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
		var mu sync.Mutex
		counted := map[string]int{}
		writer := w.newWriter("node-1")
		writer.Counted = func(kind solve.EffectKind, outcome string) {
			mu.Lock()
			defer mu.Unlock()
			counted[string(kind)+" "+outcome]++
		}
		stop := w.runWriter(writer)
		w.settle()
		stop()
		if counted["react written"] != 3 || counted["react refused"] != 1 {
			t.Errorf("counted %v", counted)
		}
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
		pass(w.cfg.Write.ListLag)
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

// lateDouble makes GitHub's lists lag for longer than the writer allows for,
// after a creation whose answer was lost: the second one that follows sees the
// first right after it was made.
func (w *world) lateDouble(kind solve.EffectKind, path string) {
	w.hub.SetLag(w.cfg.Write.ListLag + 4*time.Second)
	w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultLostAnswer, Method: "POST", Path: path + "$"})
	w.store.sending = func(e solve.Effect) {
		if e.Tries == 2 && e.Kind == kind {
			pass(5 * time.Second)
		}
	}
	_, stop := w.progress(id1)
	stop()
	pass(time.Minute)
	if n := w.hub.Requests("POST", path); n != 2 {
		w.t.Errorf("%d creations: the test does not make what it is about", n)
	}
}

func TestLateSecondCommentIsDeleted(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.lateDouble(solve.EffectNotice, "/comments")
		notice := w.store.given(id1, solve.EffectNotice, 0)
		if got := w.comments(id1, "comment"); len(got) != 1 || got[0].GetID() != notice.Receipt.ID {
			t.Errorf("comments: %v, receipt %d", got, notice.Receipt.ID)
		}
	})
}

func TestLateSecondCheckRunIsSuperseded(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.lateDouble(solve.EffectCheck, "/check-runs")
		check := w.store.given(id1, solve.EffectCheck, 0)
		got := w.checks(w.store.given(id1, solve.EffectClaim, 0).Receipt.SHA, "yudai:"+id1)
		if len(got) != 2 {
			t.Fatalf("%d check runs", len(got))
		}
		for _, c := range got { // they cannot be deleted
			live := c.GetID() == check.Receipt.ID
			if live != (c.GetStatus() == "in_progress") || !live && c.GetConclusion() != "neutral" {
				t.Errorf("check run %d is %s %s, the receipt is %d", c.GetID(), c.GetStatus(), c.GetConclusion(), check.Receipt.ID)
			}
		}
	})
}

// TestDoubleIsLookedForOnceMore: lists that lag longer than the writer allows
// for, after a lost answer, hide the first one until the second is verified. It
// is looked for again, and the one that the receipt does not name goes.
func TestDoubleIsLookedForOnceMore(t *testing.T) {
	t.Parallel()
	for path, kind := range map[string]solve.EffectKind{"/comments": solve.EffectNotice, "/check-runs": solve.EffectCheck} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				w.hub.SetLag(w.cfg.Write.ListLag + 20*time.Second)
				w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultLostAnswer, Method: "POST", Path: path + "$"})
				w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultServerError, Method: "GET", Path: path + "$", Nth: 3, Count: 2})
				_, stop := w.progress(id1)
				pass(2 * time.Minute)
				stop()
				if n := w.hub.Requests("POST", path); n != 2 {
					t.Errorf("%d creations: the test does not make what it is about", n)
				}
				receipt := w.store.given(id1, kind, 0).Receipt
				if kind == solve.EffectNotice {
					if got := w.comments(id1, "comment"); len(got) != 1 || got[0].GetID() != receipt.ID {
						t.Errorf("comments: %v, receipt %d", got, receipt.ID)
					}
					return
				}
				for _, c := range w.checks(w.store.given(id1, solve.EffectClaim, 0).Receipt.SHA, "yudai:"+id1) {
					if live := c.GetID() == receipt.ID; live == (c.GetOutput().GetTitle() == "superseded") {
						t.Errorf("check run %d is %s %q, the receipt is %d", c.GetID(), c.GetStatus(), c.GetOutput().GetTitle(), receipt.ID)
					}
				}
			})
		})
	}
}

// TestSecondNeutralCheckRunIsSuperseded: a solve without a champion ends its
// check run as neutral, which does not make a second one of them the old one.
func TestSecondNeutralCheckRunIsSuperseded(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.hub.SetLag(w.cfg.Write.ListLag + 20*time.Second)
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultSecondary429, Method: "POST", Path: "/check-runs$", Retry: time.Minute})
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultLostAnswer, Method: "POST", Path: "/check-runs$", Nth: 2})
		stop := w.write("node-1")
		s := w.newSolve(id1)
		w.store.put(s, solve.EventClaimed)
		pass(30 * time.Second) // the branch is there, its check run is not
		s.State = solve.StateUnsolved
		w.store.put(s, solve.EventNoChampion)
		pass(4 * time.Minute)
		stop()
		receipt := w.store.given(id1, solve.EffectCheck, 0).Receipt
		got := w.checks(w.store.given(id1, solve.EffectClaim, 0).Receipt.SHA, "yudai:"+id1)
		if len(got) != 2 {
			t.Fatalf("%d check runs: the test does not make what it is about", len(got))
		}
		for _, c := range got {
			if c.GetConclusion() != "neutral" {
				t.Errorf("check run %d is %q", c.GetID(), c.GetConclusion())
			}
			if live := c.GetID() == receipt.ID; live == (c.GetOutput().GetTitle() == "superseded") {
				t.Errorf("check run %d is %q, the receipt is %d", c.GetID(), c.GetOutput().GetTitle(), receipt.ID)
			}
		}
	})
}

func TestStalledWriterDoesNotCallWhenItsClaimEnds(t *testing.T) {
	t.Parallel()
	for name, stall := range map[string]time.Duration{"lists could not settle": 11 * time.Second, "claim over": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				announced := 0
				w.store.sending = func(solve.Effect) {
					if announced++; announced == 1 {
						pass(stall)
					}
				}
				w.store.want(w.reply("ask-1", "hello"))
				stop := w.write("node-1")
				w.settle()
				stop()
				if n := len(w.traffic.writes()); n != 1 || announced != 2 {
					t.Errorf("%d calls after %d announcements, want the second's only", n, announced)
				}
				if w.store.given("ask-1", solve.EffectReply, 0).Receipt.ID == 0 {
					t.Error("not written after all")
				}
			})
		})
	}
}

func TestLockedIssueEndsTheComment(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		must(t, w.hub.LockIssue("octo/hello", w.issue, true))
		w.store.want(w.reply("ask-1", "hello"))
		stop := w.write("node-1")
		w.settle()
		stop()
		if e := w.store.given("ask-1", solve.EffectReply, 0); e.State != solve.EffectDead || e.Error != "the issue is locked" {
			t.Errorf("effect is %s: %s", e.State, e.Error)
		}
	})
}

func TestLongTextIsCutToGitHubsLimit(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.store.want(w.reply("ask-1", strings.Repeat("テスト ✅ ok\n", 20_000)))
		stop := w.write("node-1")
		w.settle()
		stop()
		got := w.comments("ask-1", "reply")
		if len(got) != 1 || len(got[0].GetBody()) > 61_000 || !strings.HasSuffix(got[0].GetBody(), "GitHub accepts no longer text.*\n") {
			t.Errorf("%d comments", len(got))
		}
	})
}

// TestRestoredReplyIsFoundHoweverOld has the reply of a process whose store was
// lost: the restored one does not know when the ask came.
func TestRestoredReplyIsFoundHoweverOld(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		const guid = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
		w.store.want(w.reply(guid, "Nothing runs here."))
		w.runUntilSettled()
		pass(48 * time.Hour)
		w.store = newMemStore()
		again := w.reply(guid, "Nothing runs here.")
		again.SentAt = time.Now()
		w.store.want(again)
		w.runUntilSettled()
		if got := w.comments(guid, "reply"); len(got) != 1 {
			t.Errorf("%d replies", len(got))
		}
		if e := w.store.given(guid, solve.EffectReply, 0); e.State != solve.EffectApplied {
			t.Errorf("the reply is %s", e.State)
		}
	})
}
