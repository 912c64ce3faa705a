package solve_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

func TestNamesThatCanBeWrittenInCommands(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gpt-5-mini", "my model", "qwen3:30b", "org/model@1", "模型", strings.Repeat("a", 100)} {
		if bad := solve.BadName(name); bad != "" {
			t.Errorf("%q %s", name, bad)
		}
	}
	for _, name := range []string{"", " ", " a", "a\n", "a,b", `a"b`, "“a”", "a\x00b", "a\u200bb", "\u202ea", strings.Repeat("a", 101)} {
		if solve.BadName(name) == "" {
			t.Errorf("%q is a name", name)
		}
	}
}

func TestVariableNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"KEY": true, "_k2": true, "": false, "2K": false, "a-b": false, "a b": false, "sk-proj-123": false,
		"ghp_abc/def": false, "K\n": false, strings.Repeat("K", 201): false,
	} {
		if got := solve.VariableName(name); got != want {
			t.Errorf("VariableName(%q) = %v", name, got)
		}
	}
}
