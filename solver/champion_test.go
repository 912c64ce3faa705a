package solver_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// TestBestCandidateWins: of two right and equally small candidates the quicker one, and the record says why.
func TestBestCandidateWins(t *testing.T) {
	bubble(t, func(w *world) {
		late := run("write good late")
		late.Delay = time.Minute
		w.play("tardy", late)
		w.play("quick", run("write good soon"))
		writer := w.writer()
		p := w.start("a")
		id := w.ask(with("bad", "tardy", "quick", "idle", "norun"))
		s := w.final(id, solve.StateSolved)
		w.ends(id, solve.RunFailed, solve.RunPassed, solve.RunPassed, solve.RunEmpty, solve.RunNoVerdict)
		if s.Decision.Champion != 3 || s.Pull == nil || s.Pull.Number != 101 || writer.count() != 1 {
			w.Errorf("champion %d, pull request %+v of %d", s.Decision.Champion, s.Pull, writer.count())
		}

		commit := w.commit(id)
		message, files := commit.Message, commit.Files
		want := solve.CommitFile{Path: answerFile, Mode: "100644", Data: []byte("good soon\n"), SHA: blob("good soon\n")}
		if len(files) != 1 || files[0].Path != want.Path || files[0].Mode != want.Mode || string(files[0].Data) != string(want.Data) || files[0].SHA != want.SHA || commit.BaseSHA != s.Base.SHA {
			w.Errorf("the commit changes %+v", files)
		}
		if !strings.Contains(message, "#1") {
			w.Errorf("the commit's message does not name the issue: %s", message)
		}

		rec, err := p.engine.Record(w.Context(), id)
		w.must(err)
		data, err := json.Marshal(rec)
		w.must(err)
		read, err := solve.ReadRecord(data)
		w.must(err)
		if text, same := report.Explain(read); !same {
			w.Errorf("the exported record does not recompute:\n%s", text)
		}
		if n := len(read.Events); n == 0 || read.Events[n-1].To != string(solve.StateSolved) || uint64(n) != s.Seq {
			w.Errorf("%d events, want all %d", n, s.Seq)
		}
	})
}

// TestNoChampion: nothing is published, and the reason counts the experiments.
func TestNoChampion(t *testing.T) {
	bubble(t, func(w *world) {
		writer := w.writer()
		p := w.start("a")
		s := w.final(w.ask(with("bad", "idle", "norun")), solve.StateUnsolved)
		if s.Reason != "None of the 3 experiments passed the tests." || writer.count() != 0 {
			w.Errorf("%q, %d pull requests", s.Reason, writer.count())
		}
		if _, err := w.store.Artifact(w.Context(), s.ID, solve.CommitArtifact); !errors.Is(err, solve.ErrNotFound) {
			w.Error("there is a champion's commit")
		}
		if _, err := w.store.Effect(w.Context(), string(s.ID)+"/pull"); err == nil {
			w.Error("a pull request was asked for")
		}
		if _, err := p.engine.Record(w.Context(), "nobody"); err == nil {
			w.Error("there is a record of an unknown solve")
		}
	})
}

// TestPullRefused: the champion stays in the record, the reason is GitHub's.
func TestPullRefused(t *testing.T) {
	bubble(t, func(w *world) {
		writer := w.writer()
		writer.refuses("the branch is protected")
		w.start("a")
		s := w.final(w.ask(), solve.StateFailed)
		if !strings.Contains(s.Reason, "the branch is protected") || s.Decision.Champion != 1 || s.Refused {
			w.Errorf("champion %d, refused %t: %s", s.Decision.Champion, s.Refused, s.Reason)
		}
	})
}

// TestPublishingOutlivesTheProcess: the pull request is written once, whoever is alive.
func TestPublishingOutlivesTheProcess(t *testing.T) {
	bubble(t, func(w *world) {
		writer := w.writer()
		writer.set(false, false)
		a := w.start("a")
		id := w.ask()
		w.state(id, solve.StatePublishing)
		w.must(a.stop())
		writer.set(true, true)
		w.await(time.Minute, "the pull request", func() bool { return writer.count() == 1 })
		w.start("b")
		if s := w.final(id, solve.StateSolved); s.Pull.Number != 101 || writer.count() != 1 {
			w.Errorf("%+v, %d pull requests", s.Pull, writer.count())
		}
	})
}

// commit is what the champion's commit of a solve contains.
func (w *world) commit(id solve.ID) solve.Commit {
	w.Helper()
	data, err := w.store.Artifact(w.Context(), id, solve.CommitArtifact)
	w.must(err)
	c, err := solve.DecodeCommit(data)
	w.must(err)
	return c
}

// loseCommit removes the stored commit of a solve, as if an older version had chosen its champion.
func (w *world) loseCommit(id solve.ID) {
	w.Helper()
	found, err := filepath.Glob(filepath.Join(w.dir, "*", string(id), solve.CommitArtifact))
	w.must(err)
	if len(found) != 1 {
		w.Fatalf("commits of %s: %q", id, found)
	}
	w.must(os.Remove(found[0]))
}

// TestCommitIsMadeAtTakeOver: of a solve that was publishing when yudai was upgraded, the
// commit is not stored. The next process makes it, however long GitHub refuses the clone.
func TestCommitIsMadeAtTakeOver(t *testing.T) {
	require.Daily(t)
	for name, lost := range map[string]bool{"mirror is there": false, "mirror is lost": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				writer := w.writer()
				writer.set(false, false)
				a := w.start("a")
				id := w.ask(lasting(time.Hour))
				w.state(id, solve.StatePublishing)
				w.must(a.stop())
				before := w.commit(id)
				w.loseCommit(id)
				if lost {
					w.git = git.New(filepath.Join(w.TempDir(), "git"))
					w.hub.refuse("clone", fault{passes: true, after: 20 * time.Minute})
				}
				w.start("b")
				if lost {
					w.await(4*time.Hour, "many tries", func() bool { return w.hub.count("clone") > 10 })
					w.hub.refuse("clone", nil)
				}
				w.await(time.Hour, "the commit", func() bool {
					_, err := w.store.Artifact(w.Context(), id, solve.CommitArtifact)
					return err == nil
				})
				if diff := cmp.Diff(before, w.commit(id)); diff != "" {
					w.Errorf("the commit differs from the first one:\n%s", diff)
				}
				writer.set(true, true)
				w.final(id, solve.StateSolved)
			})
		})
	}
}

// TestNoDeadlineWhilePublishing: the champion is paid for and only has to be written.
func TestNoDeadlineWhilePublishing(t *testing.T) {
	bubble(t, func(w *world) {
		writer := w.writer()
		writer.set(false, false)
		w.start("a")
		id := w.ask(lasting(time.Minute))
		w.state(id, solve.StatePublishing)
		w.await(time.Hour, "the deadline", func() bool { return time.Since(w.solve(id).Deadline) > time.Minute })
		writer.set(true, true)
		w.final(id, solve.StateSolved)
	})
}

// TestCloneIsInsistedOn: a git server that does not answer is a passing fault, too.
func TestCloneIsInsistedOn(t *testing.T) {
	bubble(t, func(w *world) {
		good := w.hub.url
		w.hub.url = "http://127.0.0.1:1/closed.git"
		w.writer()
		w.start("a")
		id := w.ask()
		w.await(time.Minute, "two tries", func() bool { return w.hub.count("clone") >= 2 })
		w.hub.set(func(h *hub) { h.url = good })
		w.final(id, solve.StateSolved)
		if w.hub.released != w.hub.count("clone") {
			w.Errorf("%d of %d clone tokens were given back", w.hub.released, w.hub.count("clone"))
		}
	})
}
