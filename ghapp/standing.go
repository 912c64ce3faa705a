package ghapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-github/v66/github"
)

// Standing is how the App is registered and where it is installed, as GitHub has it now.
type Standing struct {
	Name, HTMLURL string
	// Permissions are levels by name, "issues": "write".
	Permissions map[string]string
	Events      []string
	Installs    []Install
}

// Install is one installation: an account that let the App in.
type Install struct {
	Account     string
	Suspended   bool
	Permissions map[string]string
}

// Standing asks GitHub, each time. Of many installations it reads the first hundred.
func (a *App) Standing(ctx context.Context) (Standing, error) {
	var app *github.App
	var all []*github.Installation
	err := a.asAppDo(ctx, "read the App", func(ctx context.Context, c *github.Client) (err error) {
		app, _, err = c.Apps.Get(ctx, "")
		return err
	})
	if err == nil {
		err = a.asAppDo(ctx, "list the installations", func(ctx context.Context, c *github.Client) (err error) {
			all, _, err = c.Apps.ListInstallations(ctx, &github.ListOptions{PerPage: 100})
			return err
		})
	}
	if err != nil {
		return Standing{}, err
	}
	s := Standing{Name: app.GetName(), HTMLURL: app.GetHTMLURL(), Events: app.Events}
	if s.Permissions, err = levels(app.GetPermissions()); err != nil {
		return Standing{}, err
	}
	for _, in := range all {
		one := Install{Account: in.GetAccount().GetLogin(), Suspended: in.SuspendedAt != nil}
		if one.Permissions, err = levels(in.GetPermissions()); err != nil {
			return Standing{}, err
		}
		s.Installs = append(s.Installs, one)
	}
	return s, nil
}

// levels are the permissions by the names that manifests use.
func levels(p *github.InstallationPermissions) (map[string]string, error) {
	out := map[string]string{}
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("read permissions: %w", err)
	}
	return out, nil
}

// HookURL is where GitHub sends the App's webhooks.
func (a *App) HookURL(ctx context.Context) (string, error) {
	var hook *github.HookConfig
	err := a.asAppDo(ctx, "read the webhook's settings", func(ctx context.Context, c *github.Client) (err error) {
		hook, _, err = c.Apps.GetHookConfig(ctx)
		return err
	})
	return hook.GetURL(), err
}

// SetHookSecret gives the App's webhook a secret; the address stays.
func (a *App) SetHookSecret(ctx context.Context, secret Secret) error {
	return a.asAppDo(ctx, "set the webhook's secret", func(ctx context.Context, c *github.Client) error {
		_, _, err := c.Apps.UpdateHookConfig(ctx, &github.HookConfig{Secret: github.String(secret.Reveal())})
		return err
	})
}

// Attempt is GitHub's record of one try to deliver a webhook.
type Attempt struct {
	ID          int64
	GUID, Event string
	At          time.Time
	// Code is the status our side answered, Status GitHub's words for it.
	Code   int
	Status string
}

// OK says whether the webhook was taken.
func (d Attempt) OK() bool { return d.Code >= 200 && d.Code < 300 }

// Attempts are the newest tries to deliver a webhook, newest first, at most n.
func (a *App) Attempts(ctx context.Context, n int) ([]Attempt, error) {
	var all []*github.HookDelivery
	err := a.asAppDo(ctx, "list the webhooks' deliveries", func(ctx context.Context, c *github.Client) (err error) {
		all, _, err = c.Apps.ListHookDeliveries(ctx, &github.ListCursorOptions{PerPage: n})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Attempt, len(all))
	for i, d := range all {
		out[i] = Attempt{
			ID: d.GetID(), GUID: d.GetGUID(), Event: d.GetEvent(), At: d.GetDeliveredAt().Time, Code: d.GetStatusCode(), Status: d.GetStatus(),
		}
	}
	return out, nil
}

// TryAgain asks GitHub to deliver a webhook once more.
func (a *App) TryAgain(ctx context.Context, d Attempt) error {
	return a.asAppDo(ctx, "ask for a delivery once more", func(ctx context.Context, c *github.Client) error {
		_, _, err := c.Apps.RedeliverHookDelivery(ctx, d.ID)
		if accepted := (&github.AcceptedError{}); errors.As(err, &accepted) { // how the library says 202
			return nil
		}
		return err
	})
}
