package ghapp

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/google/go-github/v66/github"
)

// try makes one call with a token of the scope. A 401 means that the token has ended
// and that nothing was done, so it tries once more with a new token. A token never
// gains a permission, so a refusal drops it.
func (a *App) try(ctx context.Context, s scope, action string, do request) error {
	c := a.client(s)
	err := do(ctx, c)
	if statusOf(err) == http.StatusUnauthorized {
		a.drop(s, c)
		c = a.client(s)
		err = do(ctx, c)
	}
	if err == nil {
		return nil
	}
	err = wrap(action, err)
	if outcomeOf(err) == outcomePermission {
		a.drop(s, c)
		a.setGrants(s.installation, nil) // the account may grant more
	}
	return err
}

// asksTooMuch says that GitHub gives no token, because the scope asks for a
// permission that the account has not granted.
func asksTooMuch(err error) bool {
	var e *callError
	return errors.As(err, &e) && e.noToken && e.lacksPermission()
}

// readGrants asks what the account granted. Tokens then ask for no more, so that a
// permission that waits for acceptance delays only what needs it.
func (a *App) readGrants(ctx context.Context, installation int64) error {
	in, err := a.installation(ctx, installation)
	if err != nil {
		return err
	}
	a.setGrants(installation, in.GetPermissions())
	return nil
}

func (a *App) setGrants(installation int64, p *github.InstallationPermissions) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of(installation).grants = p
}

// narrow takes from the wanted permissions those that are not granted.
func narrow(wanted, granted *github.InstallationPermissions) {
	if wanted == nil || granted == nil {
		return
	}
	for _, p := range []struct{ wanted, granted **string }{
		{&wanted.Metadata, &granted.Metadata},
		{&wanted.Issues, &granted.Issues},
		{&wanted.PullRequests, &granted.PullRequests},
		{&wanted.Contents, &granted.Contents},
		{&wanted.Checks, &granted.Checks},
	} {
		if level(*p.granted) < level(*p.wanted) {
			*p.wanted = *p.granted
		}
	}
}

func level(name *string) int {
	if name == nil {
		return 0
	}
	return slices.Index([]string{"", "read", "write", "admin"}, *name)
}
