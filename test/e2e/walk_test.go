package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v66/github"
	"github.com/rs/xid"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// orphan makes a branch with a commit without changes that a program could take for a branch reservation.
func (w *world) orphan(name, author string, id solve.ID, age time.Duration) {
	w.t.Helper()
	tr, err := ghinstallation.New(w.github, w.app.ID, w.install.ID, w.app.PrivateKeyPEM)
	w.must(err)
	tr.BaseURL = strings.TrimSuffix(w.cfg.GitHub.V3APIURL, "/")
	client := github.NewClient(&http.Client{Transport: tr})
	client.BaseURL, err = url.Parse(tr.BaseURL + "/")
	w.must(err)
	ctx, at := w.t.Context(), github.Timestamp{Time: time.Now().Add(-age)}
	head, _, err := client.Git.GetRef(ctx, w.repo.Owner, w.repo.Name, "heads/main")
	w.must(err)
	base, _, err := client.Git.GetCommit(ctx, w.repo.Owner, w.repo.Name, head.GetObject().GetSHA())
	w.must(err)
	message, email := "yudai: claim for #1\n\nYudai-Solve: "+string(id), "x@example.org"
	made, _, err := client.Git.CreateCommit(ctx, w.repo.Owner, w.repo.Name, &github.Commit{
		Message: &message, Tree: base.Tree, Parents: []*github.Commit{base},
		Author: &github.CommitAuthor{Name: &author, Email: &email, Date: &at},
	}, nil)
	w.must(err)
	ref := "refs/heads/" + name
	_, _, err = client.Git.CreateRef(ctx, w.repo.Owner, w.repo.Name, &github.Reference{Ref: &ref, Object: &github.GitObject{SHA: made.SHA}})
	w.must(err)
}

// branches are the names of all branches.
func (w *world) branches() []string {
	w.t.Helper()
	out, err := exec.Command("git", "-C", w.repo.Dir(), "for-each-ref", "--format=%(refname:short)", "refs/heads").Output()
	w.must(err)
	return strings.Fields(string(out))
}

// past puts solves into the store before the program begins: one that ended three hours
// ago, one that ended just now, and one that waits.
func (w *world) past() (over, fresh, waits solve.ID) {
	w.t.Helper()
	at, c := time.Now(), w.cfg.Store.Config
	c.Now = func() time.Time { return at }
	s, err := bolt.Open(c)
	w.must(err)
	ctx := w.t.Context()
	end := func(age time.Duration, number int) solve.ID {
		at = time.Now().Add(-age)
		made := w.wish(number, at)
		_, _, err := s.Create(ctx, made)
		w.must(err)
		if age == 0 {
			return made.ID
		}
		node := "node" + string(made.ID)
		w.must(s.Heartbeat(ctx, node, time.Hour))
		claimed, err := s.ClaimSolve(ctx, node)
		w.must(err)
		_, _, err = s.Apply(ctx, solve.Change{
			Solve: made.ID, Token: claimed.Lease.Token, Event: solve.Claimed{Branch: "ai/fix-" + string(made.ID)},
		})
		w.must(err)
		_, _, err = s.Apply(ctx, solve.Change{Solve: made.ID, Token: claimed.Lease.Token, Event: solve.Aborted{}, Reason: "no"})
		w.must(err)
		due, err := s.DueEffects(ctx)
		w.must(err)
		for _, e := range due { // what it wrote is not this test's business, nor that its branch was to be released
			_, err := s.WithdrawEffect(ctx, e.Key, "not in this test")
			w.must(err)
		}
		w.must(s.Leave(ctx, node))
		return made.ID
	}
	over, fresh = end(3*time.Hour, 101), end(time.Minute, 102)
	waits = end(0, w.issue)
	w.must(s.Close())
	return over, fresh, waits
}

func (w *world) wish(number int, at time.Time) solve.Solve {
	return solve.Solve{
		ID: solve.ID(xid.New().String()), Created: at, Issue: solve.Issue{Number: number, Title: "an issue", Author: user},
		Repo: solve.Repo{
			Installation: w.install.ID, ID: w.repo.ID, Owner: w.repo.Owner, Name: w.repo.Name, DefaultBranch: w.repo.DefaultBranch,
		},
		Trigger: solve.Trigger{Kind: solve.TriggerLabel, Key: fmt.Sprint("past:", number), Actor: user, Label: triggerLabel, At: at},
	}
}

// TestOrphanBranches: reserved branches that no solve needs go, and nothing else does.
func TestOrphanBranches(t *testing.T) {
	t.Parallel()
	w, _ := healing(t)
	w.counted()
	w.cfg.GitHub.Recovery.ScanEvery = 300 * time.Millisecond
	over, fresh, waits := w.past()
	unknown, young := solve.ID(xid.New().String()), solve.ID(xid.New().String())
	w.holdPermissions() // what waits goes on waiting
	const old = 2 * time.Hour
	name := func(id solve.ID, more string) string { return "ai/fix-1-" + string(id) + more }
	w.orphan(name(over, ""), bot, over, old)
	w.orphan(name(unknown, ""), bot, unknown, old)
	keep := []string{name(fresh, ""), name(waits, ""), name(young, ""), name(over, "-mine"), "ai/fix-1-by-hand", "ai/fix-" + name(unknown, "/other"), "main"}
	w.orphan(keep[0], bot, fresh, old)
	w.orphan(keep[1], bot, waits, old)
	w.orphan(keep[2], bot, young, time.Minute)
	w.orphan(keep[3], user, over, old)
	w.orphan(keep[4], bot, unknown, old)
	w.orphan(keep[5], bot, over, old)
	// And a person's work on top of a claim.
	w.orphan(name(unknown, "-work"), bot, unknown, old)
	_, err := w.hub.CommitFiles(w.repo.FullName(), name(unknown, "-work"), "mine", map[string]string{"x": "y"})
	w.must(err)
	keep = append(keep, name(unknown, "-work"))

	_, stop := w.serve()
	w.poll(30*time.Second, func() bool { return w.hub.Requests("DELETE", "/git/refs/") >= 2 })
	w.turns(3)
	stop()
	got := w.branches()
	slices.Sort(got)
	slices.Sort(keep)
	if d := cmp.Diff(keep, got); d != "" {
		t.Errorf("branches (-want +got):\n%s", d)
	}
}

// TestForgottenLabels: labels that were set longer ago than GitHub's log reaches back are
// found by walking, unless somebody was answered, nobody may ask, or nobody is known.
func TestForgottenLabels(t *testing.T) {
	t.Parallel()
	w, _ := healing(t)
	w.counted()
	w.cfg.GitHub.Recovery.ScanEvery = 300 * time.Millisecond
	full := w.repo.FullName()
	w.hub.CreateUser("otto") // may read
	w.hub.CreateBot("robot[bot]")
	const long = 4 * 24 * time.Hour
	w.hub.Advance(-long)
	wanted := w.issue
	w.label(wanted)
	others := map[string]int{}
	for _, who := range []string{"otto", "robot[bot]", "closed"} {
		others[who] = w.issueIs(who)
	}
	w.must(w.hub.Label(full, others["otto"], "otto", triggerLabel))
	w.must(w.hub.Label(full, others["robot[bot]"], "robot[bot]", triggerLabel))
	w.label(others["closed"])
	w.must(w.hub.CloseIssue(full, others["closed"], user))
	w.must(w.hub.AwaitIdle(t.Context()))
	w.hub.Advance(long)

	srv, stop := w.serve()
	v := w.solved(srv, wanted)
	if tr := v.Solve.Trigger; tr.Kind != solve.TriggerLabel || tr.Actor != user || tr.Label != triggerLabel || v.Solve.Issue.Body == "" {
		t.Errorf("the solve is %+v of %+v", tr, v.Solve.Issue)
	}
	w.issue = others["otto"]
	if v := w.final(srv, time.Minute); !v.Solve.Denied {
		t.Errorf("who may only read got a solve: %s", v.Solve.State)
	}
	w.turns(3)
	for _, who := range []string{"robot[bot]", "closed"} {
		if _, err := srv.Latest(t.Context(), w.repo.ID, others[who]); !errors.Is(err, solve.ErrNotFound) {
			t.Errorf("the issue of %s has a solve: %v", who, err)
		}
	}
	w.judge(stop)
	for key, n := range w.creations() {
		if n != 1 {
			t.Errorf("%s was made %d times", key, n)
		}
	}

	// With its store lost, the next process sees that people were answered.
	w.must(os.RemoveAll(filepath.Dir(w.cfg.Store.Path)))
	srv, stop = w.serve()
	w.turns(3)
	if _, err := srv.Latest(t.Context(), w.repo.ID, wanted); !errors.Is(err, solve.ErrNotFound) || len(w.pulls()) != 1 {
		t.Errorf("what was solved is solved again: %v", err)
	}
	stop()
}

// progress are the ids of our progress comments on the issue.
func (w *world) progress(kind string) []int64 {
	w.t.Helper()
	i, err := w.hub.Issue(w.repo.FullName(), w.issue)
	w.must(err)
	var out []int64
	for _, c := range i.Comments {
		if _, k, ok := solve.FindMarker(c.Body); ok && k == kind && c.Author == bot {
			out = append(out, c.ID)
		}
	}
	return out
}

// TestDeletedComment: a person deletes the progress comment of a solve that lives, with
// and without GitHub telling us: it is written anew, once. What a solve that ended leaves
// stays deleted.
func TestDeletedComment(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]bool{"told": true, "missed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := healing(t)
			requests := w.counted()
			if !told { // nor does the log know
				requests.spoil = func(path string, body []byte) []byte {
					if path == "/app/hook/deliveries" {
						return bytes.ReplaceAll(body, []byte(`"action":"deleted"`), []byte(`"action":"edited"`))
					}
					return body
				}
				w.hub.Disturb(githubsim.Disturbance{Kind: githubsim.DisturbDrop, Event: "issue_comment", Action: "deleted", Count: -1})
			}
			full := w.repo.FullName()
			srv, stop := w.serve()
			// The solve lives until its pull request can be opened.
			held := w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultServerError, Method: "POST", Path: "/pulls$", Count: -1})
			w.label(w.issue)
			w.until(srv, time.Minute, func(v report.View) bool { return v.Solve.State == solve.StatePublishing })
			w.poll(30*time.Second, func() bool { return len(w.progress("comment")) == 1 })
			w.turns(5) // the last text is written: nothing but healing touches the comment now
			first := w.progress("comment")[0]
			w.must(w.hub.DeleteComment(full, first, user))
			w.poll(time.Minute, func() bool { again := w.progress("comment"); return len(again) == 1 && again[0] != first })
			w.turns(2)
			held.Remove()
			w.solved(srv, w.issue)
			if n := w.creations()["comment "+string(w.latest(srv))+" comment   "]; n != 2 {
				t.Errorf("the progress comment was made %d times: %v", n, w.creations())
			}
			for _, kind := range []string{"comment", "result"} {
				ids := w.progress(kind)
				if len(ids) != 1 {
					t.Fatalf("%d comments of kind %s", len(ids), kind)
				}
				w.must(w.hub.DeleteComment(full, ids[0], user))
			}
			w.must(w.hub.AwaitIdle(t.Context()))
			w.turns(3)
			if n := len(w.progress("comment")) + len(w.progress("result")); n != 0 {
				t.Errorf("%d comments of a solve that ended came back", n)
			}
			stop()
		})
	}
}

func (w *world) latest(srv *server.Server) solve.ID {
	v, err := srv.Latest(w.t.Context(), w.repo.ID, w.issue)
	w.must(err)
	return v.Solve.ID
}
