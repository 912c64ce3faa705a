package cmd

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

// TestForeignLine: nothing that strangers wrote moves the cursor, sets a title, makes a link or turns the direction of text.
func TestForeignLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line     string
		coloured bool
		want     string
	}{
		{"plain\ttext", true, "plain\ttext"},
		{"\x1b[31mred\x1b[2J\x1b[H\r!", false, "red!"},
		{"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1bc\u009b2J", false, "ab2J"},
		{"a\x1b\x1b[2Jb\x1b", false, "a[2Jb"},
		{"+if a \u202e} \u2066b\u2069\u200b", false, "+if a } b"},
		{"\x1b[0m+\x1b[31ma", true, "\x1b[32m+a\x1b[0m"},
		{"-a", false, "-a"},
		{"@@ -1 +1 @@", true, "\x1b[36m@@ -1 +1 @@\x1b[0m"},
		{" same", true, " same"},
	} {
		if got := foreignLine(c.line, c.coloured); got != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
}

// TestPrintJSON: the JSON that a server sends and that of our own hold no control characters and no signs that turn text, and mean the same.
func TestPrintJSON(t *testing.T) {
	t.Parallel()
	const want = "red\u009b2J\u007f\x1b[H, \u202enäh"
	for _, value := range []any{want, json.RawMessage(`"red` + "\u009b2J\u007f" + `\u001b[H, ` + "\u202e" + `näh"`)} {
		var out bytes.Buffer
		got := ""
		if err := printJSON(&out, "  ", value); err != nil || json.Unmarshal(out.Bytes(), &got) != nil || got != want {
			t.Errorf("%v, %q, want %q", err, got, want)
		}
		if text := strings.TrimSuffix(out.String(), "\n"); solve.OneLine(text) != text || !strings.Contains(text, "näh") {
			t.Errorf("printed: %q", text)
		}
	}
}
