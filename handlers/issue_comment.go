package handlers

import (
	"fmt"

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
func (o Options) commandIntent(p payload, cmd Command, d solve.Delivery) solve.Intent {
	who := p.Sender.Login
	command := func(kind solve.CommandKind, text string) solve.Intent {
		return solve.Intent{Command: p.command(d, kind, text)}
	}
	switch cmd.Verb {
	case VerbHelp:
		return command(solve.CommandHelp, report.HelpText(o.labels()...))
	case VerbStatus, VerbCancel, VerbWhy, VerbRetry:
		return command(kinds()[cmd.Verb], "")
	case VerbPick:
		w := command(solve.CommandPick, "")
		w.Command.N = cmd.N
		return w
	case VerbRevise:
		if !p.onPull() {
			return command(solve.CommandUnknown, o.issueReply(who))
		}
		return command(solve.CommandRevise, cmd.Text)
	case VerbSolve:
	default:
		return command(solve.CommandUnknown, o.problemReply(who, cmd.Problem))
	}
	switch {
	case p.onPull():
		return command(solve.CommandUnknown, o.pullReply(who))
	case p.Issue.State == "closed":
		return command(solve.CommandUnknown, o.closedReply(who))
	}
	return solve.Intent{Solve: p.queued(o.NewID(), solve.Trigger{
		Kind:      solve.TriggerCommand,
		Key:       fmt.Sprintf("comment:%d", p.Comment.ID),
		Actor:     who,
		CommentID: p.Comment.ID,
		Delivery:  d.GUID,
		At:        d.Received,
	}, cmd.Request)}
}

// kinds are the commands of the verbs without arguments.
func kinds() map[Verb]solve.CommandKind {
	return map[Verb]solve.CommandKind{
		VerbStatus: solve.CommandStatus, VerbCancel: solve.CommandCancel, VerbWhy: solve.CommandWhy, VerbRetry: solve.CommandRetry,
	}
}
