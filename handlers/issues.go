package handlers

import (
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// issueIntent reads the event issues. A trigger label on an open issue asks for a solve;
// on a closed one it gets an answer, because a person who labels it waits for something. Assigning an issue to us does the same.
// (GitHub reports the labels of pull requests as another event, too.) Removing that label,
// and closing, deleting or moving the issue, stop its solve.
func issueIntent(o Options, p payload, d solve.Delivery) solve.Intent {
	stop := stops(p.Action)
	profile, known := o.profile(p.Label.Name)
	switch {
	case p.Action == "labeled" && known && !p.fromBot(o.Bot):
		return o.asked(p, d, solve.TriggerLabel, profile)
	case p.Action == "assigned" && p.Assignee.is(o.Bot) && !p.fromBot(o.Bot):
		return o.asked(p, d, solve.TriggerAssigned, "")
	case stop == solve.StopOnUnlabelled && !known, stop == "", p.Sender.is(o.Bot):
		return solve.Intent{}
	}
	cmd := p.command(d, solve.CommandStop, "")
	cmd.Stop = stop
	if stop == solve.StopOnUnlabelled {
		cmd.Label = p.Label.Name
	}
	return solve.Intent{Command: cmd}
}

// stops is what an action means for the issue's solve, "" if it means nothing.
func stops(action string) solve.StopEvent {
	switch action {
	case "unlabeled":
		return solve.StopOnUnlabelled
	case "closed":
		return solve.StopOnClosed
	case "deleted":
		return solve.StopOnDeleted
	case "transferred":
		return solve.StopOnTransferred
	}
	return ""
}

// asked is what a label, or the assignment of the issue to us, asks for.
func (o Options) asked(p payload, d solve.Delivery, kind solve.TriggerKind, profile string) solve.Intent {
	if p.Issue.State == "closed" {
		return solve.Intent{Command: p.command(d, solve.CommandUnknown, o.problemReply(p.Sender.Login, issueClosed))}
	}
	return solve.Intent{Solve: p.queued(o.NewID(), solve.Trigger{
		Kind: kind,
		// The GUID makes every labelling and assignment a trigger of its own; that an issue has one
		// live solve at most is the store's promise.
		Key:      fmt.Sprintf("%s:%d:%d:%s", kind, p.Repository.ID, p.Issue.Number, d.GUID),
		Actor:    p.Sender.Login,
		Label:    p.Label.Name,
		Assignee: p.Assignee.Login,
		Delivery: d.GUID,
		At:       d.Received,
	}, solve.Request{Profile: profile})}
}
