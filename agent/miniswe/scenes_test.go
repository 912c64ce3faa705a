package miniswe_test

import (
	"strings"
	"testing"
)

// TestScenes: the comparison with the native loop has scripts of every kind, enough of
// them, and some that the inspector opens.
func TestScenes(t *testing.T) {
	t.Parallel()
	kinds := map[string]int{}
	names := map[string]bool{}
	list := scenes(t)
	for _, s := range list {
		if names[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		names[s.Name] = true
		several, without := false, false
		for _, step := range s.Steps {
			several = several || len(step.Runs) > 1
			without = without || step.Raw != nil && len(step.Raw.ToolCalls) == 0
		}
		for kind, is := range map[string]bool{
			"steps": s.Limits.Steps > 0, "money": s.Limits.USD > 0, "time": s.Limits.Wall > 0, "timeout": s.Limits.Command > 0,
			"long output": s.Large > 0, "no call": without, "repeated": s.Exit == "RepeatedFormatError",
			"several calls": several, "submission": strings.HasPrefix(s.Name, "submit-"), "shown": s.Show, "messages and responses": len(s.APIs) == 2,
		} {
			if is {
				kinds[kind]++
			}
		}
	}
	for kind, least := range map[string]int{
		"steps": 1, "money": 2, "time": 1, "timeout": 3, "long output": 1, "no call": 3, "repeated": 1,
		"several calls": 2, "submission": 8, "shown": 3, "messages and responses": 3,
	} {
		if kinds[kind] < least {
			t.Errorf("%d scripts of the kind %q, want %d", kinds[kind], kind, least)
		}
	}
	if len(list) < 25 {
		t.Errorf("%d scripts", len(list))
	}
}
