package bolt

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// index brings the index entries of a solve up to date.
func (t *tx) index(s *solve.Solve) error {
	issue, age := issueKey(s.Repo.ID, s.Issue.Number), key(nil).age(s)
	var stands, waits, row []byte
	switch {
	case s.State.Final():
	case s.Waiting():
		stands, waits = []byte(s.ID), []byte(s.ID)
	default:
		stands = []byte(s.ID)
		var err error
		if row, err = encode("index entry", s.Brief()); err != nil {
			return err
		}
	}
	if old := t.get(liveIssue, issue); stands != nil || string(old) == string(s.ID) {
		t.set(liveIssue, issue, stands)
	}
	t.set(waiting, append(key(nil).id(s.Repo.ID), age...), waits)
	t.set(begun, age, row)
	return nil
}

// indexRun keeps the queued runs in the order of their start, and those at work with their nodes.
func (t *tx) indexRun(r solve.Run) {
	var queues, works []byte
	switch {
	case r.State == solve.RunQueued:
		queues = []byte(r.Solve)
	case r.State.Active():
		works = key(nil).text(r.Lease.Node)
	}
	t.set(queued, queuedKey(r), queues)
	t.set(active, runKey(r.Solve, r.N), works)
}

// begunSolves are the live solves that left the queue or have an owner.
func (t *tx) begunSolves() (out []solve.Brief, err error) {
	for _, v := range t.scan(begun, nil) {
		var b solve.Brief
		if err := json.Unmarshal(v, &b); err != nil {
			return nil, fmt.Errorf("read index entry: %w", err)
		}
		out = append(out, b)
	}
	return out, nil
}

// queueHeads are the oldest waiting solves, one of each repository.
func (t *tx) queueHeads() (out []solve.Brief) {
	c := t.bucket(waiting).Cursor()
	for k, v := c.First(); k != nil; {
		t.ops++
		repo := num(k)
		out = append(out, solve.Brief{ID: solve.ID(v), Repo: int64(repo), Created: timeOf(num(k[8:])), State: solve.StateQueued})
		if repo == math.MaxUint64 {
			break
		}
		k, v = c.Seek(key(nil).num(repo + 1))
	}
	return out
}

// loads are the running solves with their runs at work.
func (t *tx) loads(working map[solve.ID]int) ([]solve.Load, error) {
	list, err := t.begunSolves()
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(b solve.Brief) bool { return b.State != solve.StateRunning })
	out := make([]solve.Load, len(list))
	for i, b := range list {
		out[i] = solve.Load{Brief: b, Active: working[b.ID]}
		t.nextQueued(&out[i])
	}
	return out, nil
}

// nextQueued finds the first queued run of a solve.
func (t *tx) nextQueued(l *solve.Load) {
	l.Wave, l.N = 0, 0
	for k := range t.scan(queued, key(nil).text(string(l.ID))) {
		at := int(binary.BigEndian.Uint32(k[len(k)-4:]))
		l.Wave, l.N = at>>waveBits, at&solve.MaxRun
		return
	}
}

// working counts the runs at work of each solve.
func (t *tx) working() (all int, bySolve map[solve.ID]int) {
	bySolve = map[solve.ID]int{}
	for k := range t.scan(active, nil) {
		all++
		bySolve[solveOf(k)]++
	}
	return all, bySolve
}

// runName is what errors call the run of a key.
func runName(k []byte) string {
	return fmt.Sprintf("run %d of solve %s", binary.BigEndian.Uint32(k[len(k)-4:]), solveOf(k))
}

// solveOf is the solve of a run's key.
func solveOf(k []byte) solve.ID { return solve.ID(k[:len(k)-5]) }
