package handlers

import "github.com/yudai-dev/yudai/solve"

// removedRepositoriesIntent reads the event installation_repositories: the solves of
// repositories that were taken out of an installation stop.
func removedRepositoriesIntent(_ Options, p payload, d solve.Delivery) solve.Intent {
	cmd := p.stopAll(d, solve.StopOnUninstalled)
	for _, r := range p.Removed {
		if r.ID > 0 {
			cmd.Repos = append(cmd.Repos, r.ID)
		}
	}
	if p.Action != "removed" || len(cmd.Repos) == 0 { // without repositories the whole installation would be meant
		return solve.Intent{}
	}
	return solve.Intent{Command: cmd}
}
