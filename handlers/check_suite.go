package handlers

import (
	"regexp"

	"github.com/yudai-dev/yudai/solve"
)

// letters finds what may hold a solve's ID: 20 characters of its alphabet or more.
var letters = regexp.MustCompile(`[0-9a-v]{20,}`)

// checkSuiteIntent reads the event check_suite: "re-run all checks" on the branch of a
// solve retries that solve.
func checkSuiteIntent(o Options, p payload, d solve.Delivery) solve.Intent {
	id := solveOf(p.CheckSuite.HeadBranch)
	if p.Action != "rerequested" || id == "" || !o.ours(p.CheckSuite.App) || p.fromBot(o.Bot) {
		return solve.Intent{}
	}
	cmd := p.button(d, solve.CommandRetry, id)
	cmd.SHA = p.CheckSuite.HeadSHA
	return solve.Intent{Command: cmd}
}

// solveOf is the solve that a branch names, "" if it names none. The template of
// branches puts the ID last mostly; digits of an issue may stand right before it.
func solveOf(branch string) solve.ID {
	all := letters.FindAllString(branch, -1)
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	return solve.ID(last[len(last)-20:])
}
