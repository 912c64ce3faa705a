package bolt

import (
	"encoding/json"
	"fmt"
	"reflect"

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

// decode reads a record, whose field V is its version, and refuses one that a newer yudai wrote.
func decode[T any](what string, data []byte) (T, error) {
	var record, none T
	err := json.Unmarshal(data, &record)
	v := int(reflect.ValueOf(record).FieldByName("V").Int())
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
		return none, fmt.Errorf("read %s: record version %d, this yudai knows up to %d: use a newer yudai", what, v, recordVersion)
	case err != nil:
		return none, fmt.Errorf("read %s: %w", what, err)
	case v < 1:
		return none, fmt.Errorf("read %s: record without a version", what)
	}
	return record, nil
}

// decodeAll reads the records whose keys begin with the prefix. name makes words of a key, for errors.
func decodeAll[T any](t *tx, name func(k []byte) string, b bucket, prefix []byte) ([]T, error) {
	var out []T
	for k, v := range t.scan(b, prefix) {
		one, err := decode[T](name(k), v)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// putRecord writes a record in its stored form.
func (t *tx) putRecord(b bucket, k []byte, what string, record any) error {
	data, err := encode(what, record)
	if err == nil {
		t.put(b, k, data)
	}
	return err
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
	s, err := decode[solve.Solve]("solve "+string(id), data)
	s.Seq = num(t.get(sequences, []byte(id)))
	return s, err
}

// liveSolves are those in no final state.
func (t *tx) liveSolves() (out []solve.Solve, err error) {
	for _, id := range t.scan(liveIssue, nil) {
		s, err := t.solve(solve.ID(id))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// encodeSolve leaves the event number out: it is kept beside the record, so that
// an event of a run need not write the whole solve again.
func encodeSolve(s solve.Solve) ([]byte, error) {
	s.Seq = 0
	return encode("solve "+string(s.ID), s)
}

func (t *tx) oneRun(id solve.ID, n int) (solve.Run, error) {
	k := runKey(id, n)
	data := t.get(runs, k)
	if data == nil {
		return solve.Run{}, fmt.Errorf("run %d of solve %q: %w", n, id, solve.ErrNotFound)
	}
	return decode[solve.Run](runName(k), data)
}

func (t *tx) runsOf(id solve.ID) ([]solve.Run, error) {
	return decodeAll[solve.Run](t, runName, runs, key(nil).text(string(id)))
}

// putRun writes a run and its index entries.
func (t *tx) putRun(r solve.Run) error {
	t.indexRun(r)
	k := runKey(r.Solve, r.N)
	return t.putRecord(runs, k, runName(k), r)
}
