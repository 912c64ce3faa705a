package handlers

import (
	"context"
	"regexp"

	"github.com/yudai-dev/yudai/solve"
)

// checkSuite handles the event of that name: "re-run all checks" on a commit is a
// retry of the solve whose branch it is. On any other branch it asks for nothing.
type checkSuite struct{ Options }

// letters finds what may hold a solve's ID: 20 characters of its alphabet or more.
var letters = regexp.MustCompile(`[0-9a-v]{20,}`)

// Handles implements [githubapp.EventHandler].
func (checkSuite) Handles() []string { return []string{"check_suite"} }

// Handle implements [githubapp.EventHandler].
func (h checkSuite) Handle(ctx context.Context, event, guid string, raw []byte) error {
	p, err := decode(raw)
	if err != nil {
		return err
	}
	id := solveOf(p.CheckSuite.HeadBranch)
	if p.Action != "rerequested" || id == "" || !h.ours(p.CheckSuite.App) || p.fromBot(h.Bot) {
		return nil
	}
	if err := p.checkRepo(); err != nil {
		return err
	}
	if p.Installation.ID == 0 {
		return skip(ctx, p, guid, noInstallation)
	}
	d := h.delivery(event, guid, p, raw)
	return h.accept(ctx, d, solve.Intent{Command: p.button(d, solve.CommandRetry, id)})
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
