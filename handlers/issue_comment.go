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
	var wish solve.Wish
	switch p.Action {
	case "created":
		cmd, ok := ParseComment(p.Comment.Body, h.Vocabulary)
		if !ok || p.fromBot(h.Bot) {
			return nil
		}
		wish = h.wish(p, cmd, d)
	case "deleted":
		id, kind, ok := solve.FindMarker(p.Comment.Body)
		// Of our own deletions nothing follows, and another bot's would be repeated for ever.
		if !ok || kind != string(solve.EffectNotice) || !p.Comment.User.is(h.Bot) || p.Sender.is(h.Bot) || p.Sender.Type == "Bot" {
			return nil
		}
		wish.Ask = p.ask(guid, solve.AskRenew, "", d.Received)
		wish.Ask.Solve = solve.ID(id)
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
	return h.accept(ctx, d, wish)
}

// wish is what a command asks for on the thread where it was written.
func (h issueComment) wish(p payload, cmd Command, d solve.Delivery) solve.Wish {
	who := p.Sender.Login
	ask := func(kind solve.AskKind, text string) solve.Wish {
		return solve.Wish{Ask: p.ask(d.GUID, kind, text, d.Received)}
	}
	switch cmd.Verb {
	case VerbHelp:
		return ask(solve.AskHelp, report.HelpText(h.labels()...))
	case VerbStatus, VerbCancel, VerbWhy, VerbRetry:
		return ask(asks()[cmd.Verb], "")
	case VerbPick:
		w := ask(solve.AskPick, "")
		w.Ask.N = cmd.N
		return w
	case VerbRevise:
		if !p.onPull() {
			return ask(solve.AskUnknown, h.issueReply(who))
		}
		return ask(solve.AskRevise, cmd.Text)
	case VerbSolve:
	default:
		return ask(solve.AskUnknown, h.problemReply(who, cmd.Problem))
	}
	switch {
	case p.onPull():
		return ask(solve.AskUnknown, h.pullReply(who))
	case p.Issue.State == "closed":
		return ask(solve.AskUnknown, h.closedReply(who))
	}
	return solve.Wish{Solve: p.queued(h.NewID(), solve.Trigger{
		Kind:      solve.TriggerCommand,
		Key:       fmt.Sprintf("comment:%d", p.Comment.ID),
		Actor:     who,
		CommentID: p.Comment.ID,
		Delivery:  d.GUID,
		At:        d.Received,
	}, cmd.Request)}
}

// asks are the verbs that are nothing but a question or an order.
func asks() map[Verb]solve.AskKind {
	return map[Verb]solve.AskKind{
		VerbStatus: solve.AskStatus, VerbCancel: solve.AskCancel, VerbWhy: solve.AskWhy, VerbRetry: solve.AskRetry,
	}
}
