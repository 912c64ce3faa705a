package spelling_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/internal/spelling"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	valid := []string{"solve", "status", "cancel", "help", "gpt-5-mini"}
	for word, want := range map[string]string{
		"sovle": "solve", "SOLVE": "solve", "stats": "status", "cancell": "cancel", "hlep": "help", "gpt": "gpt-5-mini",
		"": "", "x": "", "banana": "", "zz": "", strings.Repeat("solve", 50): "",
	} {
		if got := spelling.Nearest(word, valid); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	if got := spelling.Nearest("abd", []string{"abc", "abe"}); got != "abc" {
		t.Errorf("tie: %q", got)
	}
	if got := spelling.Nearest("solve", nil); got != "" {
		t.Errorf("nothing valid: %q", got)
	}
}
