package handlers

import "github.com/yudai-dev/yudai/solve"

// installationIntent reads the event installation. An installation that is gone or suspended
// leaves nothing to work with: its solves stop.
func installationIntent(_ Options, p payload, d solve.Delivery) solve.Intent {
	switch p.Action {
	case "deleted":
		return solve.Intent{Command: p.stopAll(d, solve.StopOnUninstalled)}
	case "suspend":
		return solve.Intent{Command: p.stopAll(d, solve.StopOnSuspended)}
	}
	return solve.Intent{}
}
