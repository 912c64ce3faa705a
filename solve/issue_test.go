package solve_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

// What GitHub takes is kept to the last character; what is longer is cut between
// two characters, and both the agent and the people are told.
func TestIssueIsPinnedWithinBounds(t *testing.T) {
	t.Parallel()
	full := solve.Issue{Number: 1, Title: strings.Repeat("é", 256), Body: strings.Repeat("\U0001F600", solve.MaxIssue), Author: "a"}
	if diff := cmp.Diff(full, full.Pinned()); diff != "" || full.Note() != "" {
		t.Errorf("GitHub's longest issue was changed: %.200s", diff)
	}
	long := solve.Issue{Title: strings.Repeat("é", 5000), Body: strings.Repeat("\u20ac\xff", 600_000)}
	p := long.Pinned()
	if utf8.RuneCountInString(p.Title) != 1024 || utf8.RuneCountInString(p.Body) > solve.MaxIssue+100 || !strings.HasPrefix(long.Body, p.Body[:solve.MaxIssue]) {
		t.Errorf("title of %d, body of %d characters", utf8.RuneCountInString(p.Title), utf8.RuneCountInString(p.Body))
	}
	if !strings.HasSuffix(solve.CleanIssue(p.Title, p.Body), "is left out.)") {
		t.Error("the agent is not told")
	}
	if want := "the issue has 1200000 characters; the agents read the first 65536"; p.Note() != want {
		t.Errorf("note %q", p.Note())
	}
	if diff := cmp.Diff(p, p.Pinned()); diff != "" {
		t.Errorf("pinned again: %.200s", diff)
	}
}
