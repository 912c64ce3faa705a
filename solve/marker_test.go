package solve_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

func TestBranchName(t *testing.T) {
	t.Parallel()
	s := solve.Solve{ID: "d1a2b3c4d5e6f7g8h9i0", Issue: solve.Issue{Number: 12}}
	if got, err := solve.BranchName("ai/fix-{issue}-{solve}", s); err != nil || got != "ai/fix-12-d1a2b3c4d5e6f7g8h9i0" {
		t.Errorf("%q %v", got, err)
	}
	for template, want := range map[string]string{
		"ai/fix-{issue}": "must contain {solve}", "{solve}-{title}": "not {issue} or {solve}", "a b/{solve}": "character",
		"{solve}.lock": "part", "/{solve}": "part", "a//{solve}": "part", "{solve}/": "part", ".a/{solve}": "part", "a..{solve}": "dot",
		"{solve}.": "dot", "-{solve}": "dash", "a@{{solve}": "not {issue}", "a~{solve}": "character", "a\x7f{solve}": "character",
		"refs/heads/{solve}": "refs/", strings.Repeat("x", 200) + "{solve}": "200 bytes", "": "must contain", "a\u200b{solve}": "character",
	} {
		if got, err := solve.BranchName(template, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q %v, want %q", template, got, err, want)
		}
	}
}

func TestMarker(t *testing.T) {
	t.Parallel()
	m := solve.Marker("d1a2", "comment")
	if m != "<!-- yudai solve=d1a2 kind=comment -->" {
		t.Error(m)
	}
	for _, text := range []string{m, m + "\nmore", m + "\r\nmore"} {
		if id, kind, ok := solve.FindMarker(text); !ok || id != "d1a2" || kind != "comment" {
			t.Errorf("%q: %q %q %v", text, id, kind, ok)
		}
	}
	for _, text := range []string{"", "x", "x\n" + m, "> " + m, m + " more", " " + m} {
		if _, _, ok := solve.FindMarker(text); ok {
			t.Errorf("%q has no marker of its own", text)
		}
	}
	if m = solve.Marker("72d3162e-cc78-11e3-81ab-4c9367dc0958", "reply"); !strings.Contains(m, "=72d3162e-cc78-11e3-81ab-4c9367dc0958 ") {
		t.Error(m)
	}
	if m = solve.Marker("a--> <b", "c\nd"); m != "<!-- yudai solve=a--b kind=cd -->" {
		t.Error(m)
	}
}
