package ghapp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

func created(event, action string) bool { return event == "issue_comment" && action == "created" }

// TestDeliveries reads a log of several pages: what is wanted, the oldest first, each
// once however often it was sent, and no further back than asked.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		comment := func(text string) {
			_, err := w.hub.Comment("octo/hello", w.issue, "ada", text)
			must(t, err)
			must(t, w.hub.AwaitIdle(t.Context()))
			pass(time.Second)
		}
		comment("too old")
		pass(time.Hour)
		since := time.Now()
		for n := range 130 {
			comment(fmt.Sprint("comment ", n))
		}
		rows := w.hub.Deliveries(githubsim.App{ID: w.secrets.AppID})
		last := rows[len(rows)-1]
		must(t, w.hub.Redeliver(githubsim.App{ID: w.secrets.AppID}, last.ID))
		must(t, w.hub.AwaitIdle(t.Context()))

		log, err := w.app.Deliveries(t.Context(), since, created)
		must(t, err)
		if len(log) != 130 {
			t.Fatalf("%d deliveries", len(log))
		}
		for n, d := range log {
			payload, err := w.app.Payload(t.Context(), d.ID)
			must(t, err)
			if want := fmt.Sprintf(`"body":"comment %d"`, n); !strings.Contains(string(payload), want) || d.Acknowledged {
				t.Fatalf("delivery %d is %+v with %s", n, d, payload)
			}
		}
		if d := log[129]; d.GUID != last.GUID || d.ID == last.ID || !d.At.Equal(last.At.Truncate(time.Millisecond)) {
			t.Errorf("what was sent twice is %+v, first sent as %+v", d, last)
		}
		// Nothing beyond the last page is asked for, and what is no longer kept is not there.
		pages := 0
		for _, r := range w.traffic.sent {
			if r.path == "/app/hook/deliveries" {
				pages++
			}
		}
		if pages != 2 {
			t.Errorf("%d pages were read", pages)
		}
		pass(3 * 24 * time.Hour)
		if _, err := w.app.Payload(t.Context(), log[0].ID); !errors.Is(err, solve.ErrNotFound) {
			t.Errorf("an old delivery: %v", err)
		}
	})
}

// TestDeliveriesAreLimited: the limit is an error to come back from, and the next call
// is not made before its time.
func TestDeliveriesAreLimited(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultSecondary429, Path: "/app/hook/deliveries"})
		var limit interface{ RetryAfter() time.Duration }
		for range 2 {
			if _, err := w.app.Deliveries(t.Context(), time.Time{}, created); !errors.As(err, &limit) {
				t.Fatalf("limited: %v", err)
			}
		}
		pass(2 * time.Minute)
		_, err := w.app.Deliveries(t.Context(), time.Time{}, created)
		must(t, err)
	})
}

func TestCommentGone(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		id, err := w.hub.Comment("octo/hello", w.issue, "ada", "hello")
		must(t, err)
		want := func(want bool) {
			t.Helper()
			if got, err := w.app.CommentGone(t.Context(), w.repo, id); got != want || err != nil {
				t.Errorf("gone: %v, %v", got, err)
			}
		}
		want(false)
		must(t, w.hub.DeleteComment("octo/hello", id, "ada"))
		want(true)
		// Where nothing can be read, nothing is known.
		must(t, w.hub.Suspend(githubsim.Installation{ID: w.repo.Installation}))
		if gone, err := w.app.CommentGone(t.Context(), w.repo, id); gone || err == nil {
			t.Errorf("in a suspended installation: %v, %v", gone, err)
		}
	})
}

func TestInstallationsAndRepos(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		for n := range 100 { // two pages; the emulator needs no commit for it
			_, err := w.hub.CreateRepo("octo", fmt.Sprint("more-", n), nil)
			must(t, err)
		}
		in, err := w.app.Installations(t.Context())
		must(t, err)
		if d := cmp.Diff([]int64{w.repo.Installation}, in); d != "" {
			t.Error(d)
		}
		repos, err := w.app.Repos(t.Context(), w.repo.Installation)
		must(t, err)
		if len(repos) != 101 || repos[0] != w.repo {
			t.Errorf("%d repositories, first %+v", len(repos), repos[0])
		}
		// The walk's token reads everywhere and writes nowhere.
		for _, r := range w.hub.History() {
			if !strings.HasSuffix(r.Path, "/access_tokens") {
				continue
			}
			var asked struct {
				Repositories []int64           `json:"repository_ids"`
				Permissions  map[string]string `json:"permissions"`
			}
			must(t, json.Unmarshal(r.Body, &asked))
			for name, level := range asked.Permissions {
				if level != "read" {
					t.Errorf("the token may %s %s", level, name)
				}
			}
			if len(asked.Permissions) == 0 {
				t.Error("the token may do everything")
			}
		}
		installation := githubsim.Installation{ID: w.repo.Installation}
		must(t, w.hub.Suspend(installation))
		in, err = w.app.Installations(t.Context())
		must(t, err)
		suspended, err := w.app.Suspended(t.Context(), installation.ID)
		must(t, err)
		must(t, w.hub.Uninstall(installation))
		gone, err := w.app.Suspended(t.Context(), installation.ID)
		must(t, err)
		if len(in) != 0 || !suspended || gone {
			t.Errorf("suspended: listed %v, suspended %v, once it is gone %v", in, suspended, gone)
		}
	})
}

// TestLabels: open issues with the label, and which person set it last.
func TestLabels(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		const full = "octo/hello"
		w.hub.CreateUser("bob")
		w.hub.CreateBot("robot[bot]")
		by := func(want string) {
			t.Helper()
			login, at, err := w.app.LabelledBy(t.Context(), w.repo, w.issue, "Go:Fix")
			must(t, err)
			if login != want || want != "" && time.Since(at) > 2*time.Second {
				t.Errorf("set by %q at %s, want %q", login, at, want)
			}
		}
		by("")
		must(t, w.hub.Label(full, w.issue, "bob", "go:fix"))
		by("bob")
		for range 60 { // beyond the first page
			must(t, w.hub.Label(full, w.issue, "bob", "other"))
			must(t, w.hub.Unlabel(full, w.issue, "bob", "other"))
		}
		pass(time.Minute)
		must(t, w.hub.Unlabel(full, w.issue, "ada", "go:fix"))
		must(t, w.hub.Label(full, w.issue, "ada", "go:fix"))
		by("ada")

		closed, err := w.hub.OpenIssue(full, "ada", "closed", "", "go:fix")
		must(t, err)
		must(t, w.hub.CloseIssue(full, closed, "ada"))
		_, err = w.hub.OpenIssue(full, "ada", "another label", "", "other")
		must(t, err)
		list, err := w.app.Labelled(t.Context(), w.repo, "go:fix")
		must(t, err)
		want := []solve.Issue{{Number: w.issue, Title: "It says hullo", Body: "It should say hello.", Author: "ada"}}
		if d := cmp.Diff(want, list); d != "" {
			t.Error(d)
		}
		must(t, w.hub.Unlabel(full, w.issue, "ada", "go:fix"))
		must(t, w.hub.Label(full, w.issue, "robot[bot]", "go:fix"))
		by("")
	})
}

func TestAnswered(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		began := time.Now()
		want := func(since time.Time, want bool) {
			t.Helper()
			if got, err := w.app.Answered(t.Context(), w.repo, w.issue, since); got != want || err != nil {
				t.Errorf("answered: %v, %v", got, err)
			}
		}
		_, err := w.hub.Comment("octo/hello", w.issue, "ada", solve.Marker("x", "result")+"\nan imitation")
		must(t, err)
		want(began, false)
		pass(time.Minute)
		_, _, err = w.api().Issues.CreateComment(t.Context(), "octo", "hello", w.issue, &github.IssueComment{Body: github.String(solve.Marker("x", "result") + "\ndone")})
		must(t, err)
		want(began, true)
		pass(time.Minute)
		want(time.Now(), false)
	})
}

// claims makes branches of the kinds there can be, each with the name of its kind.
func (w *world) claims(id string) {
	w.t.Helper()
	g := w.api().Git
	base, _, err := g.GetCommit(w.t.Context(), "octo", "hello", w.base)
	must(w.t, err)
	other, _, err := g.CreateTree(w.t.Context(), "octo", "hello", base.GetTree().GetSHA(), []*github.TreeEntry{
		{Path: github.String("new"), Mode: github.String("100644"), Type: github.String("blob"), Content: github.String("new\n")}})
	must(w.t, err)
	message := "yudai: claim for #1\n\nYudai-Solve: " + id
	for name, c := range map[string]*github.Commit{
		"claim":    {Message: &message, Tree: base.Tree},
		"changed":  {Message: &message, Tree: other},
		"person":   {Message: &message, Tree: base.Tree, Author: &github.CommitAuthor{Name: github.String("ada"), Email: github.String("a@example.org")}},
		"champion": {Message: github.String("fix: it\n\nYudai-Solve: " + id), Tree: other},
		"nobody":   {Message: github.String("yudai: claim for #1\n"), Tree: base.Tree},
	} {
		c.Parents = []*github.Commit{{SHA: &w.base}}
		made, _, err := g.CreateCommit(w.t.Context(), "octo", "hello", c, nil)
		must(w.t, err)
		_, _, err = g.CreateRef(w.t.Context(), "octo", "hello", &github.Reference{Ref: github.String("refs/heads/ai/fix-" + name), Object: &github.GitObject{SHA: made.SHA}})
		must(w.t, err)
	}
}

func TestClaimSince(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		const id = "d1a2b3c4d5e6f7g8h9i0"
		w.claims(id)
		_, err := w.hub.CommitFiles("octo/hello", "ai/other", "a person's", map[string]string{"x": "y"})
		must(t, err)
		heads, err := w.app.BranchHeads(t.Context(), w.repo, "ai/fix-")
		must(t, err)
		if len(heads) != 5 {
			t.Fatalf("branches %v", heads)
		}
		for _, h := range heads {
			since, err := w.app.ReservedSince(t.Context(), w.repo, h.SHA, id)
			must(t, err)
			if ours := h.Name == "ai/fix-claim"; ours == since.IsZero() {
				t.Errorf("%s is a claim since %v", h.Name, since)
			}
			since, err = w.app.ReservedSince(t.Context(), w.repo, h.SHA, "d1a2b3c4d5e6f7g8h9i1")
			must(t, err)
			if !since.IsZero() {
				t.Errorf("%s is another solve's claim", h.Name)
			}
		}
		empty, err := w.hub.CreateRepo("octo", "empty", nil)
		must(t, err)
		none := w.repo
		none.ID, none.Name = empty.ID, "empty"
		if heads, err := w.app.BranchHeads(t.Context(), none, "ai/fix-"); len(heads) != 0 || err != nil {
			t.Errorf("an empty repository: %v, %v", heads, err)
		}
	})
}

func TestRemoveStray(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.claims("d1a2b3c4d5e6f7g8h9i0")
		heads, err := w.app.BranchHeads(t.Context(), w.repo, "ai/fix-")
		must(t, err)
		writer := w.newWriter("n")
		for _, h := range heads {
			if h.Name == "ai/fix-changed" { // somebody pushed meanwhile
				_, err := w.hub.CommitFiles("octo/hello", h.Name, "mine", map[string]string{"x": "y"})
				must(t, err)
			}
			for range 2 { // the second finds nothing to do
				must(t, writer.DeleteOrphanBranch(t.Context(), w.repo, h))
			}
		}
		left, err := w.app.BranchHeads(t.Context(), w.repo, "ai/")
		must(t, err)
		if len(left) != 1 || left[0].Name != "ai/fix-changed" {
			t.Errorf("left are %v", left)
		}
		// In the installation's turn, like every write.
		var last time.Time
		for _, r := range w.traffic.sent {
			if r.method != http.MethodDelete {
				continue
			}
			if r.at.Sub(last) < w.cfg.Write.Interval {
				t.Errorf("deleted %s after the one before", r.at.Sub(last))
			}
			last = r.at
		}
	})
}
