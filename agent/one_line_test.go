package agent_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                "",
		" two\r\n\tlines\x1b[1m here\x00": "two lines [1m here",
		"bro\xffken":                      "bro\uFFFDken",
		"turned\u202e\u2028around":        "turned around",
		strings.Repeat("a", 300):          strings.Repeat("a", 300),
		strings.Repeat("é", 151):          strings.Repeat("é", 150) + "…",
		"a" + strings.Repeat("é", 150):    "a" + strings.Repeat("é", 149) + "…",
	} {
		if got := agent.OneLine(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
