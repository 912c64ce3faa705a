package handlers

import (
	"strings"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// reviewCut ends a review that is longer than a command may be.
const reviewCut = "(The rest of the review is left out.)"

// reviewIntent reads the event pull_request_review: a review that requests changes of a
// pull request of ours asks for a revision, if the operator allows it.
func reviewIntent(o Options, p payload, d solve.Delivery) solve.Intent {
	text := plainText(p.Review.Body)
	requested := o.ReviseOnReview && p.Action == "submitted" && strings.EqualFold(p.Review.State, "changes_requested") && text != ""
	if !requested || !p.PullRequest.User.is(o.Bot) || p.fromBot(o.Bot) {
		return solve.Intent{}
	}
	p.Issue.Number = p.PullRequest.Number // a pull request's thread is an issue's
	cmd := p.command(d, solve.CommandRevise, report.CutMarkdown(text, maxCommand, reviewCut))
	cmd.Review = true
	return solve.Intent{Command: cmd}
}
