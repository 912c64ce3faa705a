package report_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// TestTextsOfAPick say who chose and against what, and count no money twice.
func TestTextsOfAPick(t *testing.T) {
	t.Parallel()
	v := picked()
	for name, c := range map[string]struct {
		text          string
		want, without []string
	}{
		"why":      {report.WhyText(v), []string{"because `ann` picked it", "By the rule run 1 ranks before it: "}, nil},
		"final":    {report.FinalComment(v), []string{"#7 holds the patch of run 2"}, []string{"$"}},
		"progress": {report.ProgressComment(v), []string{"passed, carried over", "with a button", "makes run 2 the champion of solve `s1`"}, []string{"Cost so far"}},
		"body":     {report.PullBody(v), []string{"because `ann` picked it", "$1.50, paid in an earlier solve", "run 2 was picked"}, []string{"of $0", "last revision"}},
	} {
		for _, w := range c.want {
			if !strings.Contains(c.text, w) {
				t.Errorf("%s lacks %q:\n%s", name, w, c.text)
			}
		}
		for _, w := range c.without {
			if strings.Contains(c.text, w) {
				t.Errorf("%s says %q:\n%s", name, w, c.text)
			}
		}
	}
}

func TestTextsOfARevision(t *testing.T) {
	t.Parallel()
	v := picked()
	v.Solve.Follows = &solve.Follow{Kind: solve.FollowRevise, Of: "s1", Text: "Shorten <!-- lengthen -->it.", Pull: &solve.Pull{Number: 7}}
	v.Solve.Issue = solve.Issue{Number: 3, Title: "It is wrong", Body: "Always."}
	v.Solve.Branch, v.Solve.Base = "ai/fix-3", solve.Base{Branch: "main", SHA: "c0ffee"}
	if got, want := v.Solve.Task(), "It is wrong\n\nAlways.\n\nThe repository already holds a proposed change for this issue. A reviewer asks for this on top of it:\n\nShorten it."; got != want {
		t.Errorf("the task is %q", got)
	}
	for _, w := range []string{"scorecard of the last revision", "`ai/fix-3` at `c0ffee`"} {
		if body := report.PullBody(v); !strings.Contains(body, w) {
			t.Errorf("the body lacks %q:\n%s", w, body)
		}
	}
	v.Solve.State, v.Solve.Pull, v.Solve.Decision = solve.StateUnsolved, nil, &solve.Decision{}
	if text := report.FinalComment(v); !strings.Contains(text, "so #7 is unchanged") {
		t.Error(text)
	}
}
