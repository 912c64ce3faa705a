package solve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// RecordVersion is the version of [Record] that this program writes and reads.
const RecordVersion = 1

// ReadRecord reads an exported record. It is strict: an unknown field, a second
// value, an unknown state or a run number that appears twice is an error,
// because a record that is not understood whole gives no decision anybody can rely on.
func ReadRecord(data []byte) (Record, error) {
	var rec Record
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&rec); err != nil {
		return Record{}, fmt.Errorf("read record: %w", readable(err, data))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Record{}, errors.New("read record: there is more behind the record's closing brace")
	}
	if err := rec.check(); err != nil {
		return Record{}, fmt.Errorf("read record: %w", err)
	}
	return rec, nil
}

// Rule is the rule that the record's decision was made by, the built-in one if
// it holds none. [ReadRecord] lets no rule pass that this program does not know.
func (rec Record) Rule() Rule {
	rule := Rule{Models: rec.Solve.Plan.Order}
	if d := rec.Solve.Decision; d != nil {
		rule, _ = ruleOf(d.Rule, rec.Solve.Plan.Order)
		rule.Cross = d.Cross
	}
	return rule
}

// readable says what is wrong and in which line.
func readable(err error, data []byte) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early")
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", lineAt(data, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("line %d: %s cannot be a %s", lineAt(data, kind.Offset), kind.Field, kind.Value)
	default:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
}

func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

func (rec Record) check() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if rec.V != RecordVersion {
		return fmt.Errorf("its version is %d, this program reads %d", rec.V, RecordVersion)
	}
	if rec.Solve.ID == "" {
		add("solve.id is missing")
	}
	if !slices.Contains(States(), rec.Solve.State) {
		add("solve.state %q is not a state", Clip(string(rec.Solve.State), 40))
	}
	seen := map[int]bool{}
	for i, r := range rec.Runs {
		switch {
		case r.N < 1:
			add("runs[%d].n is %d, must be at least 1", i, r.N)
		case seen[r.N]:
			add("runs[%d].n is %d, as in a run before it", i, r.N)
		}
		seen[r.N] = true
		if r.Solve != rec.Solve.ID {
			add("runs[%d].solve is %q, not the record's solve", i, Clip(string(r.Solve), 40))
		}
		if !slices.Contains(RunStates(), r.State) {
			add("runs[%d].state %q is not a state", i, Clip(string(r.State), 40))
		}
		if v := r.Verdict; v != nil && !slices.Contains([]Outcome{Passed, Failed, NoVerdict}, v.Outcome) {
			add("runs[%d].verdict.outcome %q is not an outcome", i, Clip(string(v.Outcome), 40))
		}
	}
	d := rec.Solve.Decision
	if d != nil && d.Champion != 0 && !seen[d.Champion] {
		add("solve.decision.champion is %d, which is no run of the record", d.Champion)
	}
	if d != nil {
		if _, err := ruleOf(d.Rule, nil); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
