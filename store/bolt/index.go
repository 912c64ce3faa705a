package bolt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// place is one index entry that stands for a solve.
type place struct {
	B bucket `json:"b"`
	K []byte `json:"k"`
}

// places are the index entries a solve should have at this moment. Reading them
// off the time is safe: a solve that becomes due later is moved then, see promote.
func (t *tx) places(s *solve.Solve, now time.Time) []place {
	if s.State.Final() {
		return nil
	}
	id := string(s.ID)
	age := key(nil).age(s)
	out := []place{{live, age}, {liveIssue, issueKey(s.Repo.ID, s.Issue.Number)}}

	due := s.Overdue(now)
	cancel := !s.CancelAt.IsZero()
	running := s.State == solve.StateRunning
	owner := s.Lease.Node
	if owner != "" && num(t.get(nodes, []byte(owner))) <= stamp(now) {
		owner = "" // dead, perhaps for so long that it is forgotten
	}
	if s.State == solve.StateQueued && owner == "" {
		return append(out, place{waiting, append(key(nil).id(s.Repo.ID), age...)})
	}
	out = append(out, place{claimed, key(nil).id(s.Repo.ID).text(id)})
	deadline := key(nil).time(s.Deadline).text(id)
	switch {
	case !running || due || cancel || t.count(countPending(id)) == 0:
		if owner == "" {
			out = append(out, place{claimFree, age})
		} else {
			out = append(out, place{claimOwned, append(key(nil).text(owner), age...)})
		}
	case !s.Deadline.IsZero():
		if owner == "" {
			out = append(out, place{dueFree, deadline})
		} else {
			out = append(out, place{dueOwned, append(key(nil).text(owner), deadline...)})
		}
	}
	if running && !due && !cancel && t.mayStart(s) {
		out = append(out, place{readySolves, append(key(nil).id(s.Repo.ID).id(s.Repo.Installation), age...)})
	}
	return out
}

// mayStart says whether the solve has a queued run of its wave and its own bound leaves room.
func (t *tx) mayStart(s *solve.Solve) bool {
	id := string(s.ID)
	k, _ := t.first(queued, key(nil).text(id))
	if k == nil {
		return false
	}
	var first solve.Run
	if first.Experiment.Wave, _ = placeOf(k); s.Held(first) {
		return false
	}
	most := s.Plan.Limits.Parallel
	return most <= 0 || t.count(countSolve(id)) < most
}

// index brings a solve's index entries up to date. The entries that stand are
// kept by solve, so that removing them does not depend on what it was before.
func (t *tx) index(s *solve.Solve, now time.Time) error {
	id := []byte(s.ID)
	had := t.get(indexed, id)
	var old []place
	if had != nil {
		if err := json.Unmarshal(had, &old); err != nil {
			return fmt.Errorf("read index entries of solve %s: %w", s.ID, err)
		}
	}
	want := t.places(s, now)
	queue := false // the repository's place in the queue may be another
	for _, p := range old {
		if !contains(want, p) {
			t.del(p.B, p.K)
			queue = t.tally(p, s.Repo.ID, -1) || queue
		}
	}
	for _, p := range want {
		if !contains(old, p) {
			t.put(p.B, p.K, id)
			queue = t.tally(p, s.Repo.ID, +1) || queue
		}
	}
	if queue {
		t.lineUp(s.Repo.ID)
	}
	data, err := encode("index entries", want)
	switch {
	case err != nil:
		return err
	case len(want) == 0:
		if had != nil {
			t.del(indexed, id)
		}
	case !bytes.Equal(had, data):
		t.put(indexed, id, data)
	}
	return t.turn(s.Repo.Installation, s.Repo.ID)
}

func contains(list []place, p place) bool {
	for _, q := range list {
		if q.B == p.B && bytes.Equal(q.K, p.K) {
			return true
		}
	}
	return false
}

// tally counts the claimed solves of a repository; it says whether the place
// concerns the queue.
func (t *tx) tally(p place, repo int64, by int) bool {
	if p.B == claimed {
		t.add(countClaimed(repo), by)
	}
	return p.B == claimed || p.B == waiting
}

// lineUp recomputes which of the repository's waiting solves is claimed next, and when.
func (t *tx) lineUp(repo int64) {
	var k key
	name := key(nil).id(repo)
	first, id := t.first(waiting, name)
	if first != nil {
		k = append(key(nil).small(t.count(countClaimed(repo))), first[len(name):]...)
	}
	t.replace(lineRepo, name, line, k, id)
}

// turn recomputes whose turn it is in the repository and in its installation:
// each level keeps the best of the one below, so that the next run to admit is
// found without looking at the others. A repository can stand under more than
// one installation: an App that is installed again gets a new number.
func (t *tx) turn(inst, repo int64) error {
	all := []int64{inst}
	prefix := key(nil).id(repo)
	err := t.scan(turnRepo, prefix, func(k, _ []byte) (bool, error) {
		if other := int64(num(k[len(prefix):])); other != inst {
			all = append(all, other)
		}
		return true, nil
	})
	for _, one := range all {
		t.turnOf(one, repo)
	}
	return err
}

func (t *tx) turnOf(inst, repo int64) {
	var repoKey key
	name := key(nil).id(repo).id(inst)
	k, id := t.first(readySolves, name)
	if k != nil {
		age := k[len(name):]
		repoKey = append(key(nil).id(inst).small(t.count(countRepo(repo))), age...).id(repo)
	}
	t.replace(turnRepo, name, readyRepos, repoKey, id)

	var instKey key
	k, id = t.first(readyRepos, key(nil).id(inst))
	if k != nil {
		instKey = append(key(nil), k[8:]...).id(inst)
	}
	t.replace(turnInst, key(nil).id(inst), readyInsts, instKey, id)
}

// replace keeps at most one key in an index for a name; nil removes it.
func (t *tx) replace(names bucket, name key, b bucket, k key, value []byte) {
	old := t.get(names, name)
	if bytes.Equal(old, k) {
		return
	}
	value = bytes.Clone(value)
	if old != nil {
		t.del(b, bytes.Clone(old))
	}
	if k == nil {
		t.del(names, name)
		return
	}
	t.put(b, k, value)
	t.put(names, name, k)
}
