package handlers

import (
	"context"
	"fmt"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// issues handles the event of that name. Of its actions only "labeled" with the
// trigger label asks for anything:
//
//   - on an open issue, for a solve;
//   - on a closed issue, for the answer that closed issues are not solved: a person
//     who labels one waits for something;
//   - on a pull request, for nothing: GitHub reports those labels as another event.
type issues struct{ Options }

// Handles implements [githubapp.EventHandler].
func (issues) Handles() []string { return []string{"issues"} }

// Handle implements [githubapp.EventHandler].
func (h issues) Handle(ctx context.Context, event, guid string, raw []byte) error {
	p, err := decode(raw)
	if err != nil {
		return err
	}
	if p.Action != "labeled" || !strings.EqualFold(p.Label.Name, h.Label) || p.fromBot(h.Bot) {
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	switch {
	case p.Installation.ID == 0:
		return skip(ctx, p, guid, noInstallation)
	case p.onPull():
		return skip(ctx, p, guid, "delivery ignored: label on a pull request")
	}
	at := h.Now()
	d := solve.Delivery{GUID: guid, Event: event, Action: p.Action, Payload: raw, Received: at}
	if p.Issue.State == "closed" {
		return h.accept(ctx, d, solve.Wish{Ask: p.ask(guid, solve.AskUnknown, closedReply(p.Sender.Login), at)})
	}
	return h.accept(ctx, d, solve.Wish{Solve: p.queued(h.NewID(), solve.Trigger{
		Kind: solve.TriggerLabel,
		// The GUID makes every labelling a trigger of its own; that an issue has one
		// live solve at most is the store's promise.
		Key:      fmt.Sprintf("label:%d:%d:%s", p.Repository.ID, p.Issue.Number, guid),
		Actor:    p.Sender.Login,
		Delivery: guid,
		At:       at,
	}, solve.Request{})})
}
