package handlers

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// externalID is what ghapp writes into a check run: the solve, and which of its check
// runs it is, a run's number or the scorecard on the champion's commit.
var externalID = regexp.MustCompile(`^yudai:([0-9a-v]{20})(?:/([0-9]{1,6}|head))?$`)

// checkRunIntent reads the event check_run: the buttons of our check runs, and their
// re-run, which retries the whole solve.
func checkRunIntent(o Options, p payload, d solve.Delivery) solve.Intent {
	kind := pressed(p)
	m := externalID.FindStringSubmatch(p.CheckRun.ExternalID)
	if kind == "" || m == nil || !o.ours(p.CheckRun.App) || p.fromBot(o.Bot) {
		return solve.Intent{}
	}
	cmd := p.button(d, kind, solve.ID(m[1]))
	if kind == solve.CommandPick {
		cmd.N, _ = strconv.Atoi(m[2]) // 0, the runner-up, if it is not a run's
	}
	return solve.Intent{Command: cmd}
}

// pressed is what the event asks for, "" if nothing.
func pressed(p payload) solve.CommandKind {
	kind := solve.CommandKind(p.RequestedAction.Identifier)
	switch {
	case p.Action == "rerequested":
		return solve.CommandRetry
	case p.Action == "requested_action" && slices.Contains(report.Buttons(), kind):
		return kind
	}
	return ""
}
