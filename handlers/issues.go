package handlers

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// issues handles the event of that name. A trigger label asks for a solve:
//
//   - on an open issue it gets one;
//   - on a closed issue it gets the answer that closed issues are not solved: a person
//     who labels one waits for something;
//   - on a pull request it gets nothing: GitHub reports those labels as another event.
//
// Taking that label off, and closing, deleting or moving the issue, stop its solve.
type issues struct{ Options }

// Handles implements [githubapp.EventHandler].
func (issues) Handles() []string { return []string{"issues"} }

// Handle implements [githubapp.EventHandler].
func (h issues) Handle(ctx context.Context, event, guid string, raw []byte) error {
	p, err := decode(raw)
	if err != nil {
		return err
	}
	stop := stops(p.Action)
	profile, known := h.profile(p.Label.Name)
	switch {
	case p.Action == "labeled" && known && !p.fromBot(h.Bot):
	case stop == solve.StopUnlabelled && !known, stop == "", p.Sender.is(h.Bot):
		return nil
	}
	if err := p.checkIssue(); err != nil {
		return err
	}
	switch {
	case p.Installation.ID == 0:
		return skip(ctx, p, guid, noInstallation)
	case p.onPull():
		return skip(ctx, p, guid, "delivery ignored: label or state of a pull request")
	}
	d := h.delivery(event, guid, p, raw)
	if stop != "" {
		ask := p.ask(guid, solve.CommandStop, "", d.Received)
		ask.Stop = stop
		if stop == solve.StopUnlabelled {
			ask.Label = p.Label.Name
		}
		return h.accept(ctx, d, solve.Intent{Command: ask})
	}
	return h.accept(ctx, d, h.labeled(p, d, profile))
}

// stops is what an action means for the issue's solve, "" if it means nothing.
func stops(action string) solve.Stop {
	switch action {
	case "unlabeled":
		return solve.StopUnlabelled
	case "closed":
		return solve.StopClosed
	case "deleted":
		return solve.StopDeleted
	case "transferred":
		return solve.StopTransferred
	}
	return ""
}

func (h issues) labeled(p payload, d solve.Delivery, profile string) solve.Intent {
	if p.Issue.State == "closed" {
		return solve.Intent{Command: p.ask(d.GUID, solve.CommandUnknown, h.closedReply(p.Sender.Login), d.Received)}
	}
	return solve.Intent{Solve: p.queued(h.NewID(), solve.Trigger{
		Kind: solve.TriggerLabel,
		// The GUID makes every labelling a trigger of its own; that an issue has one
		// live solve at most is the store's promise.
		Key:      fmt.Sprintf("label:%d:%d:%s", p.Repository.ID, p.Issue.Number, d.GUID),
		Actor:    p.Sender.Login,
		Label:    p.Label.Name,
		Delivery: d.GUID,
		At:       d.Received,
	}, solve.Request{Profile: profile})}
}
