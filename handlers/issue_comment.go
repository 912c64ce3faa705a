package handlers

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// issueComment handles the event of that name: commands in new comments. Edited
// comments are no commands, whatever they say. A solve can be asked for on an open
// issue only; elsewhere the answer says so.
type issueComment struct{ Options }

// Handles implements [githubapp.EventHandler].
func (issueComment) Handles() []string { return []string{"issue_comment"} }

// Handle implements [githubapp.EventHandler].
func (h issueComment) Handle(ctx context.Context, event, guid string, raw []byte) error {
	p, err := decode(raw)
	if err != nil {
		return err
	}
	if p.Action != "created" || p.fromBot(h.Bot) {
		return nil
	}
	cmd, ok := ParseComment(p.Comment.Body, h.Vocabulary)
	if !ok {
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	if p.Comment.ID <= 0 {
		return fmt.Errorf("%w: no comment.id", ErrPayload)
	}
	if p.Installation.ID == 0 {
		return skip(ctx, p, guid, noInstallation)
	}
	at := h.Now()
	d := solve.Delivery{GUID: guid, Event: event, Action: p.Action, Payload: raw, Received: at}
	return h.accept(ctx, d, h.wish(p, cmd, guid, d))
}

func (h issueComment) wish(p payload, cmd Command, guid string, d solve.Delivery) solve.Wish {
	ask := func(kind solve.AskKind, text string) solve.Wish {
		return solve.Wish{Ask: p.ask(guid, kind, text, d.Received)}
	}
	switch {
	case cmd.Problem != "":
		return ask(solve.AskUnknown, problemReply(p.Sender.Login, cmd.Problem))
	case cmd.Verb == VerbStatus:
		return ask(solve.AskStatus, "")
	case cmd.Verb == VerbCancel:
		return ask(solve.AskCancel, "")
	case cmd.Verb == VerbHelp:
		return ask(solve.AskHelp, "")
	case p.onPull():
		return ask(solve.AskUnknown, pullReply(p.Sender.Login))
	case p.Issue.State == "closed":
		return ask(solve.AskUnknown, closedReply(p.Sender.Login))
	}
	return solve.Wish{Solve: p.queued(h.NewID(), solve.Trigger{
		Kind:      solve.TriggerCommand,
		Key:       fmt.Sprintf("comment:%d", p.Comment.ID),
		Actor:     p.Sender.Login,
		CommentID: p.Comment.ID,
		Delivery:  guid,
		At:        d.Received,
	}, cmd.Request)}
}
