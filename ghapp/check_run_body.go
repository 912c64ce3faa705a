package ghapp

import (
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// checkChange is an edit of a check run that can take its buttons away: the
// library's own leaves an empty list out, and GitHub then keeps the old ones.
type checkChange struct {
	github.UpdateCheckRunOptions
	Actions []*github.CheckRunAction `json:"actions"`
}

// buttons are never nil: an empty list takes the old ones away.
func buttons(c report.Check) []*github.CheckRunAction {
	out := []*github.CheckRunAction{}
	for _, b := range c.Actions {
		out = append(out, &github.CheckRunAction{Label: b.Label, Description: b.Description, Identifier: b.Identifier})
	}
	return out
}

func checkReceipt(c *github.CheckRun) solve.Receipt {
	return solve.Receipt{ID: c.GetID(), SHA: c.GetHeadSHA(), URL: c.GetHTMLURL()}
}

// output cuts the texts to GitHub's limits, which are bytes whatever its documentation says.
func output(c report.Check) *github.CheckRunOutput {
	out := &github.CheckRunOutput{
		Title:   github.String(report.CutMarkdown(c.Title, report.MaxTitle, "")),
		Summary: github.String(report.CutMarkdown(c.Summary, report.MaxCheck, cutNote)),
	}
	if c.Text != "" {
		out.Text = github.String(report.CutMarkdown(c.Text, report.MaxCheck, cutNote))
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func stamp(at time.Time) *github.Timestamp {
	if at.IsZero() {
		return nil
	}
	return &github.Timestamp{Time: at.UTC().Truncate(time.Second)}
}

func completed(c report.Check, at time.Time) *github.Timestamp {
	if c.Status != "completed" {
		return nil
	}
	return stamp(at)
}
