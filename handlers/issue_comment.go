package handlers

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// issueComment handles the event of that name: commands in new comments, on issues and
// on pull requests, and the deletion of our own progress comment, which is then written
// anew. Edited comments are no commands, whatever they say.
//
// A solve can be asked for on an open issue only, a revision on a pull request only;
// elsewhere the answer says so.
type issueComment struct{ Options }

// Handles implements [githubapp.EventHandler].
func (issueComment) Handles() []string { return []string{"issue_comment"} }

// Handle implements [githubapp.EventHandler].
func (h issueComment) Handle(ctx context.Context, event, guid string, raw []byte) error {
	p, err := decode(raw)
	if err != nil {
		return err
	}
	d := h.delivery(event, guid, p, raw)
	var intent solve.Intent
	switch p.Action {
	case "created":
		cmd, ok := ParseComment(p.Comment.Body, h.Vocabulary)
		if !ok || p.fromBot(h.Bot) {
			return nil
		}
		intent = h.intent(p, cmd, d)
	case "deleted":
		id, kind, ok := solve.FindMarker(p.Comment.Body)
		// Of our own deletions nothing follows, and another bot's would be repeated for ever.
		if !ok || kind != string(solve.EffectNotice) || !p.Comment.User.is(h.Bot) || p.Sender.is(h.Bot) || p.Sender.Type == "Bot" {
			return nil
		}
		intent.Command = p.ask(guid, solve.CommandRenew, "", d.Received)
		intent.Command.Solve = solve.ID(id)
	default:
		return nil
	}
	if err := p.checkIssue(); err != nil {
		return err
	}
	if p.Comment.ID <= 0 {
		return fmt.Errorf("%w: no comment.id", ErrPayload)
	}
	if p.Installation.ID == 0 {
		return skip(ctx, p, guid, noInstallation)
	}
	return h.accept(ctx, d, intent)
}

// intent is what a command asks for on the thread where it was written.
func (h issueComment) intent(p payload, cmd Command, d solve.Delivery) solve.Intent {
	who := p.Sender.Login
	ask := func(kind solve.CommandKind, text string) solve.Intent {
		return solve.Intent{Command: p.ask(d.GUID, kind, text, d.Received)}
	}
	switch cmd.Verb {
	case VerbHelp:
		return ask(solve.CommandHelp, report.HelpText(h.labels()...))
	case VerbStatus, VerbCancel, VerbWhy, VerbRetry:
		return ask(asks()[cmd.Verb], "")
	case VerbPick:
		w := ask(solve.CommandPick, "")
		w.Command.N = cmd.N
		return w
	case VerbRevise:
		if !p.onPull() {
			return ask(solve.CommandUnknown, h.issueReply(who))
		}
		return ask(solve.CommandRevise, cmd.Text)
	case VerbSolve:
	default:
		return ask(solve.CommandUnknown, h.problemReply(who, cmd.Problem))
	}
	switch {
	case p.onPull():
		return ask(solve.CommandUnknown, h.pullReply(who))
	case p.Issue.State == "closed":
		return ask(solve.CommandUnknown, h.closedReply(who))
	}
	return solve.Intent{Solve: p.queued(h.NewID(), solve.Trigger{
		Kind:      solve.TriggerCommand,
		Key:       fmt.Sprintf("comment:%d", p.Comment.ID),
		Actor:     who,
		CommentID: p.Comment.ID,
		Delivery:  d.GUID,
		At:        d.Received,
	}, cmd.Request)}
}

// asks are the verbs that are nothing but a question or an order.
func asks() map[Verb]solve.CommandKind {
	return map[Verb]solve.CommandKind{
		VerbStatus: solve.CommandStatus, VerbCancel: solve.CommandCancel, VerbWhy: solve.CommandWhy, VerbRetry: solve.CommandRetry,
	}
}
