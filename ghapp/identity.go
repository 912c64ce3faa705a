package ghapp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/go-github/v66/github"
)

// Identity is who the App is.
type Identity struct {
	ID   int64
	Slug string
	// Bot is the login under which the App writes: "<slug>[bot]".
	Bot string
}

// Identity asks GitHub who the App is, once.
func (a *App) Identity(ctx context.Context) (Identity, error) {
	a.mu.Lock()
	known := a.identity
	a.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	app, err := a.registered(ctx)
	switch statusOf(err) {
	case http.StatusUnauthorized:
		return Identity{}, fmt.Errorf("the private key is not one of the App with id %d, or this machine's clock is wrong: %w", a.id, err)
	case http.StatusNotFound:
		return Identity{}, fmt.Errorf("there is no App with id %d at %s (github.app.integration_id, github.v3_api_url): %w", a.id, a.api, err)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("%w (is %s the address of GitHub's API? see github.v3_api_url)", err, a.api)
	}
	if app.GetID() == 0 || app.GetSlug() == "" {
		return Identity{}, malformed("App")
	}
	id := Identity{ID: app.GetID(), Slug: app.GetSlug(), Bot: app.GetSlug() + "[bot]"}
	a.mu.Lock()
	a.identity = &id
	a.mu.Unlock()
	return id, nil
}

func (a *App) registered(ctx context.Context) (*github.App, error) {
	return get(ctx, a.asAppDo, "read the App", func(ctx context.Context, c *github.Client) (*github.App, *github.Response, error) {
		return c.Apps.Get(ctx, "")
	})
}
