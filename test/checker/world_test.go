package checker_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/test/checker"
)

const (
	guid   = "00000000-0000-0000-0000-000000000001"
	solved = solve.ID("c0000000000000000001")
	branch = "ai/fix-1"
)

// world is hand-made evidence: a store driven through one solve, and the history
// that an honest writer would have left for it.
type world struct {
	t       *testing.T
	store   *bolt.Store
	now     time.Time
	history []githubsim.Record
	ids     int64
	// skip leaves effects of a kind unwritten.
	skip func(solve.Effect) bool
	dir  string
	e    checker.Evidence
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		t: t, now: time.Now().Truncate(time.Second), ids: 100, dir: dir, skip: func(solve.Effect) bool { return false },
		e: checker.Evidence{
			History: filepath.Join(dir, "history.jsonl"), Store: filepath.Join(dir, "store", "yudai.db"), Sandboxes: filepath.Join(dir, "sandboxes"),
		},
	}
	var err error
	w.store, err = bolt.Open(bolt.Config{Path: w.e.Store, Now: func() time.Time { return w.now }})
	w.must(err)
	w.must(w.store.Heartbeat(t.Context(), "n", time.Hour))
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) record(method, path, target string, body map[string]any) {
	data, err := json.Marshal(body)
	w.must(err)
	r := githubsim.Record{Kind: "request", Status: http.StatusCreated, Method: method, Path: "/repos/acme/widget/" + path, Target: target, Body: data}
	w.history = append(w.history, r)
}

// delivered notes an acknowledged webhook that sets the label.
func (w *world) delivered(guid string) {
	w.history = append(w.history, githubsim.Record{
		Kind: "delivery", Status: http.StatusOK, Event: "issues", Action: "labeled", GUID: guid,
		Repo: "acme/widget", Issue: 1, Sender: "alice", Text: "yudai:solve",
	})
}

func repo() solve.Repo { return solve.Repo{Installation: 7, ID: 3, Owner: "acme", Name: "widget"} }

func (w *world) accept(guid string, intent solve.Intent) {
	_, err := w.store.Accept(w.t.Context(), solve.Delivery{GUID: guid, Event: "issues", Action: "labeled", Payload: []byte("{}"), Received: w.now}, intent)
	w.must(err)
}

func (w *world) apply(run int, ev solve.Event) {
	w.t.Helper()
	_, _, err := w.store.Apply(w.t.Context(), solve.Change{Solve: solved, Run: run, Event: ev})
	w.must(err)
}

// steps are the life of one solve; a test may stop in between or add to it.
func (w *world) steps() []func() {
	claim := func() {
		_, err := w.store.ClaimSolve(w.t.Context(), "n")
		w.must(err)
	}
	base := solve.Base{Branch: "main", SHA: "b"}
	return []func(){
		func() {
			w.delivered(guid)
			w.accept(guid, solve.Intent{Solve: &solve.Solve{
				ID: solved, Repo: repo(), Issue: solve.Issue{Number: 1}, Trigger: solve.Trigger{Kind: solve.TriggerLabel, Key: "k", Delivery: guid},
			}})
		},
		claim,
		func() {
			plan := solve.Plan{Experiments: []solve.Experiment{{Model: "m", Repeat: 1}}}
			w.apply(0, solve.Claimed{Plan: plan, Branch: branch, Base: base})
		},
		func() { w.apply(0, solve.BaseReady{Base: base, Runs: []solve.Run{{N: 1}}}) },
		func() {
			_, err := w.store.Admit(w.t.Context(), "n", solve.Caps{})
			w.must(err)
		},
		func() { w.apply(1, solve.Started{}) },
		func() { w.apply(1, solve.AgentEnded{}) },
		func() { w.apply(1, solve.Harvested{}) },
		func() { w.apply(1, solve.Judged{Verdict: solve.Verdict{Outcome: solve.Passed}}) },
		func() { w.apply(0, solve.ChampionChosen{}) },
		func() { w.write() },
		func() { w.apply(0, solve.Published{Pull: solve.Pull{Number: 2, Commit: "h"}}) },
	}
}

func (w *world) live() {
	for _, step := range w.steps() {
		step()
	}
}

// write does every effect that is wanted, as an honest writer would.
func (w *world) write() {
	w.t.Helper()
	for {
		due, err := w.store.DueEffects(w.t.Context())
		w.must(err)
		due = slices.DeleteFunc(due, w.skip)
		if len(due) == 0 {
			return
		}
		e, err := w.store.ClaimEffect(w.t.Context(), due[0].Key, "n", time.Minute)
		w.must(err)
		w.must(w.store.FinishEffect(w.t.Context(), e.Key, e.Token, e.Wanted, w.show(e)))
	}
}

// show puts an effect into the history.
func (w *world) show(e solve.Effect) solve.Receipt {
	got := e.Receipt
	fresh := got.ID == 0
	if fresh {
		w.ids++
		got.ID = w.ids
	}
	status := map[string]any{"status": "in_progress"}
	if s, err := w.store.Solve(w.t.Context(), e.Solve); err == nil && s.State.Final() {
		status = map[string]any{"status": "completed", "conclusion": "success"}
	}
	switch e.Kind {
	case solve.EffectClaim:
		w.record("POST", "git/refs", "ref refs/heads/"+branch, map[string]any{"ref": "refs/heads/" + branch})
		got.SHA = "c"
	case solve.EffectNotice, solve.EffectFinal, solve.EffectReply:
		if fresh {
			w.comment(got.ID, string(e.Solve), e.Kind)
		}
	case solve.EffectCheck:
		if fresh {
			w.check(got.ID, "c", "yudai:"+string(e.Solve), status)
		} else {
			w.record("PATCH", "check-runs", fmt.Sprintf("check %d", got.ID), status)
		}
	case solve.EffectRun:
		if fresh {
			w.check(got.ID, "c", fmt.Sprintf("yudai:%s/%d", e.Solve, e.Run), status)
		}
	case solve.EffectPull:
		w.record("POST", "pulls", "pull 2", map[string]any{"head": branch, "base": "main"})
		w.ids++
		w.check(w.ids, "h", "yudai:"+string(e.Solve)+"/head", map[string]any{"status": "completed", "conclusion": "success"})
		got.Number = 2
	}
	return got
}

func (w *world) comment(id int64, owner string, kind solve.EffectKind) {
	w.record("POST", "issues/1/comments", fmt.Sprintf("comment %d", id), map[string]any{"body": solve.Marker(owner, string(kind)) + "\ntext"})
}

func (w *world) check(id int64, sha, external string, more map[string]any) {
	body := map[string]any{"name": "yudai", "head_sha": sha, "external_id": external}
	for k, v := range more {
		body[k] = v
	}
	w.record("POST", "check-runs", fmt.Sprintf("check %d", id), body)
}

// drop takes the records out that a target and a part of the body name.
func (w *world) drop(target, part string) {
	w.history = slices.DeleteFunc(w.history, func(r githubsim.Record) bool {
		return strings.HasPrefix(r.Target, target) && strings.Contains(string(r.Body), part)
	})
}

// again repeats them under a new number.
func (w *world) again(target, part string) {
	for _, r := range slices.Clone(w.history) {
		if r.Method == "POST" && strings.HasPrefix(r.Target, target) && strings.Contains(string(r.Body), part) {
			w.ids++
			r.Target = fmt.Sprintf("%s %d", target, w.ids)
			w.history = append(w.history, r)
		}
	}
}

// edit changes the closed store's file behind its back.
func (w *world) edit(change func(tx *bbolt.Tx) error) {
	w.must(w.store.Close())
	db, err := bbolt.Open(w.e.Store, 0o600, nil)
	w.must(err)
	w.must(db.Update(change))
	w.must(db.Close())
}

// report closes everything and judges it.
func (w *world) report() checker.Report {
	w.t.Helper()
	w.must(w.store.Close())
	f, err := os.Create(w.e.History)
	w.must(err)
	for i, r := range w.history {
		r.Seq, r.Time = i+1, w.now
		w.must(json.NewEncoder(f).Encode(r))
	}
	w.must(f.Close())
	r, err := checker.Check(w.t.Context(), w.e)
	w.must(err)
	return r
}

// found says whether exactly one list has findings, and one that holds the text.
func found(t *testing.T, r checker.Report, list, text string) {
	t.Helper()
	for name, all := range map[string][]string{"lost": r.Lost, "doubled": r.Doubled, "leaked": r.Leaked, "paid": r.Paid} {
		if name != list && len(all) > 0 {
			t.Errorf("%s: %q", name, all)
		}
		if name == list && !slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, text) }) {
			t.Errorf("%s is %q, want %q among them", name, all, text)
		}
	}
}
