package handlers

import (
	"context"

	"github.com/yudai-dev/yudai/solve"
)

// installationRepositories handles the event of that name: the solves of repositories
// that were taken out of an installation stop.
type installationRepositories struct{ Options }

// Handles implements [githubapp.EventHandler].
func (installationRepositories) Handles() []string { return []string{"installation_repositories"} }

// Handle implements [githubapp.EventHandler].
func (h installationRepositories) Handle(ctx context.Context, event, guid string, raw []byte) error {
	p, err := decode(raw)
	if err != nil {
		return err
	}
	if p.Action != "removed" {
		return nil
	}
	if err := p.checkInstallation(); err != nil {
		return err
	}
	h.Evict(p.Installation.ID)
	d := h.delivery(event, guid, p, raw)
	cmd := p.stopAll(d, solve.StopUninstalled)
	for _, r := range p.Removed {
		if r.ID > 0 {
			cmd.Repos = append(cmd.Repos, r.ID)
		}
	}
	if len(cmd.Repos) == 0 { // without this the whole installation would be meant
		return nil
	}
	return h.accept(ctx, d, solve.Intent{Command: cmd})
}
