package handlers

import "github.com/yudai-dev/yudai/solve"

// pullIntent reads the event pull_request: the track record wants to know what became of a pull request of ours. That a
// program closes one without a merge says nothing of the change: it tidies up, or merges in a way of its own.
func pullIntent(o Options, p payload, d solve.Delivery) solve.Intent {
	ends := p.Action == "closed" && (p.PullRequest.Merged || p.Sender.Type != "Bot")
	if !ends && p.Action != "reopened" || !p.PullRequest.User.is(o.Bot) {
		return solve.Intent{}
	}
	p.Issue.Number = p.PullRequest.Number // a pull request's thread is an issue's
	return solve.Intent{Command: p.command(d, solve.CommandPull, "")}
}
