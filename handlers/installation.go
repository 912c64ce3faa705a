package handlers

import (
	"context"

	"github.com/yudai-dev/yudai/solve"
)

// installation handles the event of that name. An installation that is gone or suspended
// leaves nothing to work with: its solves stop. Whenever its rights change, what is kept
// of it is forgotten: a token has the rights it was made with.
type installation struct{ Options }

// Handles implements [githubapp.EventHandler].
func (installation) Handles() []string { return []string{"installation"} }

// Handle implements [githubapp.EventHandler].
func (h installation) Handle(ctx context.Context, event, guid string, raw []byte) error {
	p, err := decode(raw)
	if err != nil {
		return err
	}
	var stop solve.Stop
	switch p.Action {
	case "deleted":
		stop = solve.StopUninstalled
	case "suspend":
		stop = solve.StopSuspended
	case "unsuspend", "new_permissions_accepted":
	default:
		return nil
	}
	if err := p.checkInstallation(); err != nil {
		return err
	}
	h.Evict(p.Installation.ID)
	if stop == "" {
		return nil
	}
	d := h.delivery(event, guid, p, raw)
	return h.accept(ctx, d, solve.Intent{Command: p.stopAll(d, stop)})
}
