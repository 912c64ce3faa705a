package ghapp

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// checkBody is what GitHub is told of a check run. The library's own types leave an empty
// list of buttons out, and GitHub then keeps the old ones.
type checkBody struct {
	Name        string                   `json:"name"`
	HeadSHA     string                   `json:"head_sha,omitempty"`
	ExternalID  string                   `json:"external_id"`
	Status      string                   `json:"status,omitempty"`
	Conclusion  string                   `json:"conclusion,omitempty"`
	StartedAt   time.Time                `json:"started_at,omitzero"`
	CompletedAt time.Time                `json:"completed_at,omitzero"`
	Output      *github.CheckRunOutput   `json:"output"`
	Actions     []*github.CheckRunAction `json:"actions"`
}

// sendCheck makes a check run with POST, or edits one with PATCH.
func (t *writeTry) sendCheck(ctx context.Context, c *github.Client, method, path string, run checkRun) (*github.CheckRun, error) {
	body := checkBody{
		Name: run.content.Name, HeadSHA: run.sha, ExternalID: run.externalID,
		Status: run.content.Status, Conclusion: run.content.Conclusion,
		StartedAt: wholeSecond(run.started),
		Output:    &github.CheckRunOutput{Title: &run.content.Title, Summary: &run.content.Summary},
		Actions:   []*github.CheckRunAction{},
	}
	if run.content.Text != "" {
		body.Output.Text = &run.content.Text
	}
	if run.content.Status == "completed" {
		body.CompletedAt = wholeSecond(run.ended)
	}
	for _, b := range run.content.Actions {
		body.Actions = append(body.Actions, &github.CheckRunAction{Label: b.Label, Description: b.Description, Identifier: b.Identifier})
	}
	req, err := c.NewRequest(method, fmt.Sprintf("repos/%s/%s/check-runs%s", t.e.Repo.Owner, t.e.Repo.Name, path), body)
	if err != nil {
		return nil, err
	}
	sent := &github.CheckRun{}
	_, err = c.Do(ctx, req, sent)
	return sent, err
}

func wholeSecond(at time.Time) time.Time { return at.UTC().Truncate(time.Second) }

func checkReceipt(c *github.CheckRun) solve.Receipt {
	return solve.Receipt{ID: c.GetID(), SHA: c.GetHeadSHA(), URL: c.GetHTMLURL()}
}
