package bolt

import (
	"encoding/json"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// recordVersion is the version of every record this binary writes. It reads no newer one.
const recordVersion = 1

// Records that need more than the noun has.
type (
	entryRecord struct {
		V int `json:"v"`
		solve.Entry
	}
	askRecord struct {
		V int `json:"v"`
		solve.Command
	}
	// effectRecord has the order in which effects came to be wanted: their age.
	effectRecord struct {
		solve.Effect
		Order uint64 `json:"order"`
	}
)

func (r *entryRecord) version() int  { return r.V }
func (r *askRecord) version() int    { return r.V }
func (r *effectRecord) version() int { return r.V }

type solveRecord struct{ solve.Solve }
type runRecord struct{ solve.Run }

func (r *solveRecord) version() int { return r.V }
func (r *runRecord) version() int   { return r.V }

type versioned interface{ version() int }

// decode reads a record and refuses one that a newer yudai wrote.
func decode(what string, data []byte, into versioned) error {
	err := json.Unmarshal(data, into)
	v := into.version()
	if err != nil {
		// A newer version may have changed a type: say that rather than the symptom.
		var only struct {
			V int `json:"v"`
		}
		if json.Unmarshal(data, &only) == nil {
			v = only.V
		}
	}
	switch {
	case v > recordVersion:
		return fmt.Errorf("read %s: record version %d, this yudai knows up to %d: use a newer yudai", what, v, recordVersion)
	case err != nil:
		return fmt.Errorf("read %s: %w", what, err)
	case v < 1:
		return fmt.Errorf("read %s: record without a version", what)
	}
	return nil
}

func encode(what string, record any) ([]byte, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", what, err)
	}
	return data, nil
}

func (t *tx) solve(id solve.ID) (solve.Solve, error) {
	data := t.get(solves, []byte(id))
	if data == nil {
		return solve.Solve{}, fmt.Errorf("solve %q: %w", id, solve.ErrNotFound)
	}
	return t.decodeSolve(id, data)
}

func (t *tx) decodeSolve(id solve.ID, data []byte) (solve.Solve, error) {
	var r solveRecord
	if err := decode("solve "+string(id), data, &r); err != nil {
		return solve.Solve{}, err
	}
	r.Seq = num(t.get(sequences, []byte(id)))
	return r.Solve, nil
}

// encodeSolve leaves the event number out: it is kept beside the record, so that
// an event of a run need not write the whole solve again.
func encodeSolve(s solve.Solve) ([]byte, error) {
	s.Seq = 0
	return encode("solve "+string(s.ID), s)
}

func (t *tx) oneRun(id solve.ID, n int) (solve.Run, error) {
	data := t.get(runs, runKey(id, n))
	if data == nil {
		return solve.Run{}, fmt.Errorf("run %d of solve %q: %w", n, id, solve.ErrNotFound)
	}
	return decodeRun(id, data)
}

func decodeRun(id solve.ID, data []byte) (solve.Run, error) {
	var r runRecord
	if err := decode("run of solve "+string(id), data, &r); err != nil {
		return solve.Run{}, err
	}
	return r.Run, nil
}

func (t *tx) runsOf(id solve.ID) ([]solve.Run, error) {
	var out []solve.Run
	err := t.scan(runs, key(nil).text(string(id)), func(_, v []byte) (bool, error) {
		r, err := decodeRun(id, v)
		out = append(out, r)
		return true, err
	})
	return out, err
}

// putRun writes a run and its index entries.
func (t *tx) putRun(r solve.Run) error {
	data, err := encode(fmt.Sprintf("run %d of solve %s", r.N, r.Solve), r)
	if err != nil {
		return err
	}
	t.put(runs, runKey(r.Solve, r.N), data)
	t.indexRun(r)
	return nil
}
