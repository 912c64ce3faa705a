package handlers

import (
	"fmt"
	"strings"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// commentIntent reads the event issue_comment: commands in new comments, and the deletion
// of our own progress comment, which is then written again. Edited comments are no commands.
//
// A solve can be asked for on an open issue only, a revision on a pull request only;
// elsewhere the answer says so.
func commentIntent(o Options, p payload, d solve.Delivery) solve.Intent {
	switch p.Action {
	case "created":
		o.Vocabulary.Name = strings.TrimSuffix(o.Bot, "[bot]")
		if cmd, ok := ParseComment(p.Comment.Body, o.Vocabulary); ok && !p.fromBot(o.Bot) {
			return o.commandIntent(p, cmd, d)
		}
	case "deleted":
		id, kind, ok := solve.FindMarker(p.Comment.Body)
		// Our own deletions mean nothing, and another bot would repeat its own for ever.
		if ok && kind == string(solve.EffectNotice) && p.Comment.User.is(o.Bot) && !p.Sender.is(o.Bot) && p.Sender.Type != "Bot" {
			renew := p.command(d, solve.CommandRenew, "")
			renew.Solve = solve.ID(id)
			return solve.Intent{Command: renew}
		}
	}
	return solve.Intent{}
}

// commandIntent is what a command asks for on the thread where it was written.
func (o Options) commandIntent(p payload, cmd ParsedCommand, d solve.Delivery) solve.Intent {
	who, problem, text := p.Sender.Login, cmd.Problem, cmd.Text
	switch {
	case problem != "":
	case cmd.Kind == solve.CommandHelp:
		text = report.HelpText(o.labels()...)
	case cmd.Kind == solve.CommandRevise && !p.onPull():
		problem = reviseOnIssue
	case cmd.Kind == CommandSolve && p.onPull():
		problem = solveOnPull
	case cmd.Kind == CommandSolve && p.Issue.State == "closed":
		problem = issueClosed
	}
	switch {
	case problem != "":
		return solve.Intent{Command: p.command(d, solve.CommandUnknown, o.problemReply(who, problem))}
	case cmd.Kind != CommandSolve:
		c := p.command(d, cmd.Kind, text)
		c.N = cmd.N
		return solve.Intent{Command: c}
	}
	return solve.Intent{Solve: p.queued(o.NewID(), solve.Trigger{
		Kind:      solve.TriggerCommand,
		Key:       fmt.Sprintf("comment:%d", p.Comment.ID),
		Actor:     who,
		Stranger:  p.byStranger(),
		CommentID: p.Comment.ID,
		Delivery:  d.GUID,
		At:        d.Received,
	}, cmd.Request)}
}
