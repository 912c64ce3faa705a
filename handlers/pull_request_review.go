package handlers

import (
	"context"
	"strings"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// reviewCut ends a review that is longer than an intent may be.
const reviewCut = "(The rest of the review is left out.)"

// pullRequestReview handles the event of that name: a review that requests changes of a
// pull request of ours, and says which, asks for a revision, if the operator lets it.
type pullRequestReview struct{ Options }

// Handles implements [githubapp.EventHandler].
func (pullRequestReview) Handles() []string { return []string{"pull_request_review"} }

// Handle implements [githubapp.EventHandler].
func (h pullRequestReview) Handle(ctx context.Context, event, guid string, raw []byte) error {
	p, err := decode(raw)
	if err != nil {
		return err
	}
	text := plainText(p.Review.Body)
	switch {
	case !h.ReviseOnReview, p.Action != "submitted", !strings.EqualFold(p.Review.State, "changes_requested"), text == "":
		return nil
	case !p.PullRequest.User.is(h.Bot), p.fromBot(h.Bot):
		return nil
	}
	p.Issue.Number = p.PullRequest.Number // a pull request's thread is an issue's
	if err := p.checkIssue(); err != nil {
		return err
	}
	if p.Installation.ID == 0 {
		return skip(ctx, p, guid, noInstallation)
	}
	d := h.delivery(event, guid, p, raw)
	ask := p.ask(guid, solve.CommandRevise, report.CutMarkdown(text, maxCommand, reviewCut), d.Received)
	ask.Review = true
	return h.accept(ctx, d, solve.Intent{Command: ask})
}
