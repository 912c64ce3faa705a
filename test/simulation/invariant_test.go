package simulation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/test/checker"
)

// check looks at what is left when everything is over, and notes what is wrong.
func (w *world) check() {
	w.t.Helper()
	store, err := bolt.Open(w.storeConfig())
	w.must(err)
	defer func() { w.must(store.Close()) }()
	if left := w.host.leftovers(); len(left) > 0 {
		w.problem("sandboxes left: %q", left)
	}
	s, err := store.LatestSolve(context.Background(), w.repo.ID, w.issue)
	if err != nil {
		w.problem("the solve is lost: %v", err)
		return
	}
	w.checkSolve(store, s)
	w.checkBundle(store, s)
	w.checkEffects(store, s)
	w.checkBill()
	w.checkComments(s)
	w.checkCode(s)
}

// checkSolve compares states and champion, and reads logs and transcripts.
func (w *world) checkSolve(store *bolt.Store, s solve.Solve) {
	w.t.Helper()
	ctx, champion := context.Background(), 0
	if s.Decision != nil {
		champion = s.Decision.Champion
	}
	if s.State != w.scenario.end || champion != w.scenario.champion {
		w.problem("the solve is %s with champion %d (%s), want %s with %d", s.State, champion, s.Reason, w.scenario.end, w.scenario.champion)
	}
	runs, err := store.Runs(ctx, s.ID)
	w.must(err)
	var states []solve.RunState
	for _, r := range runs {
		states = append(states, r.State)
		if r.Attempt > 1 {
			w.problem("run %d has attempt %d, although no sandbox was ever lost", r.N, r.Attempt)
		}
		if !r.Started.IsZero() && r.From == nil {
			w.checkTranscript(store, r)
		}
	}
	if w.scenario.states != nil && len(runs) > 0 && !slices.Equal(states, w.scenario.states) {
		w.problem("the runs ended %v, want %v", states, w.scenario.states)
	}
	events, err := store.Events(ctx, s.ID, 0)
	w.must(err)
	for i, e := range events {
		if e.Seq != uint64(i)+1 {
			w.problem("event %d has the number %d", i+1, e.Seq)
		}
	}
}

// checkBundle wants the stored decision signed, in a bundle that anybody can check.
func (w *world) checkBundle(store *bolt.Store, s solve.Solve) {
	w.t.Helper()
	if s.Decision == nil {
		return
	}
	signer, err := bundle.New(context.Background(), w.bundles(), store, "checker")
	w.must(err)
	write, err := signer.Export(context.Background(), s.ID)
	if err != nil {
		w.problem("the decision was not signed: %v", err)
		return
	}
	var data bytes.Buffer
	w.must(write(&data))
	b, err := bundle.Read(&data)
	w.must(err)
	_, wrong := b.Decide()
	stored, err := json.Marshal(s.Decision)
	w.must(err)
	if err := errors.Join(b.Verify(b.Key), wrong); err != nil || !bytes.Equal(stored, b.Statement.Predicate.Decision) {
		w.problem("the bundle is not that of the stored decision: %v", err)
	}
}

// checkTranscript wants a whole conversation: no turn lost, none twice.
func (w *world) checkTranscript(store *bolt.Store, r solve.Run) {
	data, err := store.Transcript(context.Background(), r.Solve, r.N)
	if err != nil {
		w.problem("transcript of run %d: %v", r.N, err)
		return
	}
	var history []agent.Message
	open := map[string]bool{}
	for line := range bytes.Lines(data) {
		var m agent.Message
		if err := json.Unmarshal(line, &m); err != nil {
			w.problem("transcript of run %d, line %d: %v", r.N, len(history)+1, err)
		}
		history = append(history, m)
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == agent.RoleTool && !open[m.ToolCallID] {
			w.problem("transcript of run %d: an answer to %q, which was not called", r.N, m.ToolCallID)
		}
		delete(open, m.ToolCallID)
	}
	roles := func(role string) (n int) {
		for _, m := range history {
			if m.Role == role {
				n++
			}
		}
		return n
	}
	if roles(agent.RoleSystem) > 1 || roles(agent.RoleUser) > 1 || roles(agent.RoleExit) > 1 {
		w.problem("the transcript of run %d begins or ends more than once", r.N)
	}
	if r.Exit == agent.ExitSubmitted && (len(history) == 0 || history[len(history)-1].Role != agent.RoleExit || len(open) > 0) {
		w.problem("the transcript of run %d, which submitted, has no end", r.N)
	}
	if n := agent.Interrupted(history); n > len(w.gates)-1 {
		w.problem("run %d was interrupted %d times in %d crashes", r.N, n, len(w.gates)-1)
	}
}

// checkEffects wants everything written that was to be.
func (w *world) checkEffects(store *bolt.Store, s solve.Solve) {
	w.t.Helper()
	effects, err := store.SolveEffects(context.Background(), s.ID)
	w.must(err)
	for _, f := range effects {
		switch {
		case f.State == solve.EffectApplied && f.Applied == f.Wanted:
		case f.State == solve.EffectDead && s.State != solve.StateSolved && f.Error != "":
		default:
			w.problem("effect %s is %s, version %d of %d: %s", f.Key, f.State, f.Applied, f.Wanted, f.Error)
		}
	}
}

// checkBill wants a crash to cost each run one answer of its model at most.
func (w *world) checkBill() {
	again := map[string]int{}
	for q, n := range w.provider.bill() {
		again[q.model] += n - 1
	}
	for model, n := range again {
		if n > len(w.gates)-1+3*w.retries() { // of three answers each
			w.problem("model %s was asked %d times for what it had answered, with %d crashes", model, n, len(w.gates)-1)
		}
	}
}

// judge asks the one who judges from outside, by the emulator's history and the store alone.
func (w *world) judge() {
	w.t.Helper()
	report, err := checker.Check(context.Background(), checker.Evidence{
		History: w.history(), Store: w.storeConfig().Path, Crashes: len(w.gates) - 1,
	})
	w.must(err)
	if !report.OK() {
		w.problem("the checker: %s", report)
	}
}

// checkComments wants one comment and one reaction of each kind, and none taken back.
func (w *world) checkComments(s solve.Solve) {
	w.t.Helper()
	issue, err := w.hub.Issue(w.repo.FullName(), w.issue)
	w.must(err)
	kinds, owners, ours := map[string]int{}, map[string]bool{string(s.ID): true}, 0
	for _, c := range issue.Comments {
		if c.Author != bot {
			continue
		}
		ours++
		id, kind, _ := solve.FindMarker(c.Body)
		owners[id] = true
		kinds[kind]++
	}
	solves := 1 + len(w.scenario.then)
	if len(owners) != solves {
		w.problem("comments belong to %v, want %s and %d others", owners, s.ID, solves-1)
	}
	want := map[string]int{string(solve.EffectNotice): solves, string(solve.EffectFinal): solves}
	if s.Started.IsZero() { // cancelled before it was claimed: only the answer
		delete(want, string(solve.EffectNotice))
	}
	if !maps.Equal(kinds, want) {
		w.problem("comments by kind: %v, want %v", kinds, want)
	}
	if n := w.hub.Requests("POST", fmt.Sprintf("/issues/%d/comments", w.issue)); n != ours {
		w.problem("%d comments were made, %d are there", n, ours)
	}
	for _, r := range issue.Reactions {
		if r.Author == bot {
			kinds["reaction "+r.Content]++
		}
	}
	for kind, n := range kinds {
		if n > solves {
			w.problem("%d of %s", n, kind)
		}
	}
}

// checkCode wants the one pull request of a solved solve, and its check runs once and concluded.
func (w *world) checkCode(s solve.Solve) {
	w.t.Helper()
	pulls, err := w.hub.Pulls(w.repo.FullName())
	w.must(err)
	switch {
	case w.scenario.end != solve.StateSolved && len(pulls) > 0:
		w.problem("%d pull requests of a solve that is %s", len(pulls), s.State)
	case w.scenario.end == solve.StateSolved && len(pulls) != 1:
		w.problem("%d pull requests", len(pulls))
	case len(pulls) == 1 && s.Pull != nil && (pulls[0].Number != s.Pull.Number || pulls[0].HeadSHA != s.Pull.Commit):
		w.problem("the pull request is %d at %s, the store has %d at %s", pulls[0].Number, pulls[0].HeadSHA, s.Pull.Number, s.Pull.Commit)
	case len(pulls) == 1 && (len(pulls[0].Files) != 1 || !strings.Contains(pulls[0].Files[0].Patch, "+good")):
		w.problem("the pull request does not hold the champion: %+v", pulls[0].Files)
	}
	checks, err := w.hub.Checks(w.repo.FullName())
	w.must(err)
	seen := map[string]int{}
	for _, c := range checks {
		if c.Status != "completed" {
			w.problem("check run %s is %s", c.Name, c.Status)
		}
		name := c.Name + " on " + c.SHA
		if len(w.scenario.then) > 0 { // several solves show theirs on one commit
			name += " of " + c.ExternalID
		}
		seen[name]++
	}
	for key, n := range seen {
		if n > 1 {
			w.problem("%d check runs %s", n, key)
		}
	}
	branches, err := w.hub.Branches(w.repo.FullName())
	w.must(err)
	if len(branches) > 2 {
		w.problem("branches: %v", branches)
	}
}
