package checker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Call is one model call as the provider saw it. Run is "<solve>/<n>", Step the
// number of messages in the request: a run that is gone on with asks for each once.
type Call struct {
	Run  string    `json:"run"`
	Step int       `json:"step"`
	Time time.Time `json:"time"`
}

func readCalls(path string) ([]Call, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read model calls: %w", err)
	}
	var out []Call
	lines := bytes.Split(data, []byte("\n"))
	for i, line := range lines[:len(lines)-1] { // what follows the last newline was never finished
		var c Call
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, fmt.Errorf("read model calls %s, line %d: %w", path, i+1, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// paid names the work that was done again although it need not have been. A
// crash of the process leaves its sandboxes on the machine, so a run that had one
// is gone on with; only the call that was under way may be asked again.
func paid(left final, calls []Call, crashes int) []string {
	var f findings
	for _, s := range left.solves {
		for _, e := range left.events[s.ID] {
			if e.Event == solve.EventRequeued && e.From != string(solve.RunDispatched) {
				f.add("run %d of solve %s was %s and started again: %s", e.Run, s.ID, e.From, e.Reason)
			}
		}
	}
	again, seen := map[string]int{}, map[Call]bool{}
	for _, c := range calls {
		step := Call{Run: c.Run, Step: c.Step}
		if seen[step] {
			again[c.Run]++
		}
		seen[step] = true
	}
	for _, c := range calls {
		if n := again[c.Run]; n > crashes {
			f.add("run %s asked the model %d times for what it had been answered, in %d crashes", c.Run, n, crashes)
			delete(again, c.Run)
		}
	}
	return f
}
