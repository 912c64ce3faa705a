package ghapp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// Access is what a clone needs: user "x-access-token", the token as password.
// The token belongs in neither URL nor argv: both end up in files and error texts.
type Access struct {
	URL   string // without credentials
	Token Secret
}

// Clone mints a token that can read one repository's contents and nothing else.
// GitHub's answer is checked for that before the token is given out. release
// revokes it; it is safe to call twice, and the token dies by itself after an hour.
func (a *App) Clone(ctx context.Context, repo solve.Repo) (Access, func(context.Context) error, error) {
	read := github.String("read")
	token, err := get(ctx, a.asAppDo, "get a clone token",
		func(ctx context.Context, c *github.Client) (*github.InstallationToken, *github.Response, error) {
			return c.Apps.CreateInstallationToken(ctx, repo.Installation, &github.InstallationTokenOptions{
				RepositoryIDs: []int64{repo.ID},
				Permissions:   &github.InstallationPermissions{Contents: read, Metadata: read},
			})
		})
	if statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusUnprocessableEntity {
		return Access{}, nil, fmt.Errorf("get a clone token for %s: %w: %w", repo, ErrNotInstalled, err)
	}
	if err != nil {
		return Access{}, nil, err
	}
	secret := NewSecret(token.GetToken())
	release := a.revoker(secret)
	if problem := tooWide(token, repo.ID); problem != "" {
		if err := release(ctx); err != nil {
			return Access{}, nil, fmt.Errorf("clone token for %s %s, and revoke it: %w", repo, problem, err)
		}
		return Access{}, nil, fmt.Errorf("clone token for %s %s", repo, problem)
	}
	url := strings.TrimSuffix(a.cfg.WebURL, "/") + "/" + repo.Owner + "/" + repo.Name + ".git"
	return Access{URL: url, Token: secret}, release, nil
}

// tooWide compares what was asked for with what GitHub says the token can do.
func tooWide(t *github.InstallationToken, repo int64) string {
	if t.GetToken() == "" {
		return "is missing"
	}
	got := t.GetPermissions()
	if got.GetContents() != "read" {
		return fmt.Sprintf("has contents %q, not read", got.GetContents())
	}
	rest := *got
	rest.Contents, rest.Metadata = nil, nil
	if rest != (github.InstallationPermissions{}) {
		return "has more permissions than asked for"
	}
	for _, r := range t.Repositories {
		if r.GetID() != repo {
			return "opens another repository: " + r.GetFullName()
		}
	}
	return ""
}

// revoker revokes a token with the token itself, over a connection of its own: a
// shared client would go on with a dead token for the rest of the hour.
func (a *App) revoker(token Secret) func(context.Context) error {
	var mu sync.Mutex
	done := token.Empty()
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, a.cfg.Write.Timeout)
		defer cancel()
		c := a.newClient(a.limited(a.backoff(0)), "clone token").WithAuthToken(token.Reveal())
		_, err := c.Apps.RevokeInstallationToken(ctx)
		if err != nil && statusOf(err) != http.StatusUnauthorized { // 401: dead already
			return wrap("revoke a clone token", err)
		}
		done = true
		return nil
	}
}
