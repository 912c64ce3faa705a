package handlers

import (
	"context"
	"regexp"
	"strconv"

	"github.com/yudai-dev/yudai/solve"
)

// checkRun handles the event of that name: the buttons of our check runs, and their
// re-run, which is a retry of the whole solve. Which solve is meant stands in the run's
// external id; the thread it belongs to is the solve's issue.
type checkRun struct{ Options }

// externalID is what ghapp writes into a check run: the solve, and which of its check
// runs it is, a run's number or the scorecard on the champion's commit.
var externalID = regexp.MustCompile(`^yudai:([0-9a-v]{20})(?:/([0-9]{1,6}|head))?$`)

// Handles implements [githubapp.EventHandler].
func (checkRun) Handles() []string { return []string{"check_run"} }

// Handle implements [githubapp.EventHandler].
func (h checkRun) Handle(ctx context.Context, event, guid string, raw []byte) error {
	p, err := decode(raw)
	if err != nil {
		return err
	}
	kind := pressed(p)
	m := externalID.FindStringSubmatch(p.CheckRun.ExternalID)
	if kind == "" || m == nil || !h.ours(p.CheckRun.App) || p.fromBot(h.Bot) {
		return nil
	}
	if err := p.checkRepo(); err != nil {
		return err
	}
	if p.Installation.ID == 0 {
		return skip(ctx, p, guid, noInstallation)
	}
	d := h.delivery(event, guid, p, raw)
	ask := p.button(d, kind, solve.ID(m[1]))
	if kind == solve.CommandPick {
		ask.N, _ = strconv.Atoi(m[2]) // 0, the runner-up, if it is not a run's
	}
	return h.accept(ctx, d, solve.Intent{Command: ask})
}

// pressed is what the event asks for, "" if nothing.
func pressed(p payload) solve.CommandKind {
	switch p.Action {
	case "rerequested":
		return solve.CommandRetry
	case "requested_action":
		switch p.RequestedAction.Identifier {
		case "cancel":
			return solve.CommandCancel
		case "retry":
			return solve.CommandRetry
		case "pick":
			return solve.CommandPick
		}
	}
	return ""
}
