package bolt

import (
	"bytes"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/solve"
)

// reader is what the rules read, see [solve.Reader].
type reader struct {
	*tx
	at time.Time
}

func (r reader) Solve(id solve.ID) (solve.Solve, error)    { return r.tx.solve(id) }
func (r reader) Run(id solve.ID, n int) (solve.Run, error) { return r.oneRun(id, n) }
func (r reader) Runs(id solve.ID) ([]solve.Run, error)     { return r.runsOf(id) }
func (r reader) Alive(node string) bool                    { return r.mustLive(node, r.at) == nil }

// Unfinished implements [solve.Reader].
func (r reader) Unfinished(id solve.ID, most int) (n int) {
	for _, b := range []bucket{queued, active} {
		for range r.scan(b, key(nil).text(string(id))) {
			if n++; n >= most {
				return n
			}
		}
	}
	return n
}

// trusted is the token that is checked: none with the mutation that leaves the check out.
func trusted(token uint64) uint64 {
	if failpoint.Mutated(failpoint.NoTokenCheck) {
		return 0
	}
	return token
}

// write stores everything that follows from an event.
func (t *tx) write(all *solve.Transition) error {
	s := &all.Solve
	if s.State.Final() && len(all.Entries) == 0 {
		return nil // it ended before
	}
	for _, c := range all.Runs {
		if err := t.putRun(c.After); err != nil {
			return err
		}
	}
	for _, e := range all.Entries {
		k := key(nil).text(string(e.Solve)).num(e.Seq)
		name := fmt.Sprintf("event %d of solve %s", e.Seq, e.Solve)
		if err := t.putRecord(events, k, name, entryRecord{V: recordVersion, Entry: e}); err != nil {
			return err
		}
	}
	if len(all.Entries) > 0 {
		t.put(sequences, []byte(s.ID), key(nil).num(s.Seq))
	}
	for _, e := range all.Effects {
		if err := t.want(e); err != nil {
			return err
		}
	}
	if s.Pull != nil { // its number is one of the repository's issues, too
		t.put(byIssue, issueKey(s.Repo.ID, s.Pull.Number), []byte(s.ID))
	}
	if err := t.learn(all.Learned, nil); err != nil {
		return err
	}
	if s.State.Final() {
		t.put(ended, key(nil).time(s.Ended).text(string(s.ID)), []byte(s.ID))
	}
	if err := t.book(s); err != nil {
		return err
	}
	return t.putSolve(s)
}

// putSolve writes the solve, if it changed, and its indexes.
func (t *tx) putSolve(s *solve.Solve) error {
	data, err := encodeSolve(*s)
	if err != nil {
		return err
	}
	if !bytes.Equal(data, t.get(solves, []byte(s.ID))) {
		t.put(solves, []byte(s.ID), data)
	}
	return t.index(s)
}
