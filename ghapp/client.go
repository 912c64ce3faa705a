package ghapp

import (
	"context"
	"fmt"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// scope is what a client's token may touch: one repository, reading or writing.
type scope struct {
	installation int64
	repo         int64
	name         string // without owner, where the id is not known yet
	write        bool
	all          bool // every repository of the installation, reading only
}

func readScope(r solve.Repo) scope { return scope{installation: r.Installation, repo: r.ID} }

func writeScope(r solve.Repo) scope {
	return scope{installation: r.Installation, repo: r.ID, write: true}
}

// allReposScope reads in all repositories of an installation: a token for each of
// them would cost as much as what is read there.
func allReposScope(installation int64) scope { return scope{installation: installation, all: true} }

// options narrow the token. They can only take away from what the App was granted.
func (s scope) options() *github.InstallationTokenOptions {
	read, write := github.String("read"), github.String("write")
	opts := &github.InstallationTokenOptions{
		Permissions: &github.InstallationPermissions{Metadata: read},
	}
	switch {
	case s.name != "":
		opts.Repositories = []string{s.name}
		return opts
	case s.write:
		opts.Permissions.Issues = write
		opts.Permissions.PullRequests = write
		opts.Permissions.Contents = write
		opts.Permissions.Checks = write
	default:
		opts.Permissions.Issues = read
		opts.Permissions.PullRequests = read
		opts.Permissions.Contents = read
	}
	if !s.all {
		opts.RepositoryIDs = []int64{s.repo}
	}
	return opts
}

// client returns the client of a scope, made on first use.
func (a *App) client(s scope) *github.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.of(s.installation)
	if c := k.clients[s]; c != nil {
		return c
	}
	if len(k.clients) >= maxClients {
		clear(k.clients)
	}
	tr := ghinstallation.NewFromAppsTransport(a.signer(k.backoff), s.installation)
	tr.InstallationTokenOptions = s.options()
	narrow(tr.InstallationTokenOptions.Permissions, k.grants)
	c := a.newClient(tr, fmt.Sprintf("installation: %d", s.installation))
	k.clients[s] = c
	return c
}

// drop forgets a client unless it was replaced already.
func (a *App) drop(s scope, c *github.Client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if k := a.of(s.installation); k.clients[s] == c {
		delete(k.clients, s)
	}
}

// do calls GitHub with a token of the scope. If the account granted less than the
// scope asks for, it tries again with what is granted.
func (a *App) do(ctx context.Context, s scope, action string, do request) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Write.Timeout)
	defer cancel()
	err := a.try(ctx, s, action, do)
	if asksTooMuch(err) && a.readGrants(ctx, s.installation) == nil {
		err = a.try(ctx, s, action, do)
	}
	return err
}

// in calls GitHub with a token of the scope.
func (a *App) in(s scope) caller {
	return func(ctx context.Context, action string, do request) error { return a.do(ctx, s, action, do) }
}
