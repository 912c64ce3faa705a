package solve_test

import (
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

// TestOldSettingsAreRead: a record with a setting that has no effect any more is no riddle.
func TestOldSettingsAreRead(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"true", "false"} {
		data := `{"v":1,"solve":{"v":1,"id":"s1","state":"queued","plan":{"settings":{"tries":2,"require_fix":` + value + `}}},"runs":[]}`
		rec, err := solve.ReadRecord([]byte(data))
		if err != nil || rec.Solve.Plan.Settings.Tries != 2 {
			t.Errorf("require_fix %s: %v", value, err)
		}
	}
}
