package ghapp

import (
	"context"
	"errors"
	"time"

	"github.com/google/go-github/v66/github"
)

// HookURL is where GitHub sends the App's webhooks.
func (a *App) HookURL(ctx context.Context) (string, error) {
	hook, err := get(ctx, a.asAppDo, "read the webhook's settings",
		func(ctx context.Context, c *github.Client) (*github.HookConfig, *github.Response, error) {
			return c.Apps.GetHookConfig(ctx)
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

// HookDelivery is GitHub's record of one try to deliver a webhook.
type HookDelivery struct {
	ID          int64
	GUID, Event string
	At          time.Time
	// Code is the status our side answered, Status GitHub's words for it.
	Code   int
	Status string
}

// OK says whether the webhook was taken.
func (d HookDelivery) OK() bool { return d.Code >= 200 && d.Code < 300 }

// HookDeliveries are the newest tries to deliver a webhook, newest first, at most n.
func (a *App) HookDeliveries(ctx context.Context, n int) ([]HookDelivery, error) {
	all, err := get(ctx, a.asAppDo, "list the webhooks' deliveries",
		func(ctx context.Context, c *github.Client) ([]*github.HookDelivery, *github.Response, error) {
			return c.Apps.ListHookDeliveries(ctx, &github.ListCursorOptions{PerPage: n})
		})
	if err != nil {
		return nil, err
	}
	out := make([]HookDelivery, len(all))
	for i, d := range all {
		out[i] = HookDelivery{
			ID: d.GetID(), GUID: d.GetGUID(), Event: d.GetEvent(), At: d.GetDeliveredAt().Time, Code: d.GetStatusCode(), Status: d.GetStatus(),
		}
	}
	return out, nil
}

// Redeliver asks GitHub to deliver a webhook once more.
func (a *App) Redeliver(ctx context.Context, d HookDelivery) error {
	return a.asAppDo(ctx, "ask for a delivery once more", func(ctx context.Context, c *github.Client) error {
		_, _, err := c.Apps.RedeliverHookDelivery(ctx, d.ID)
		if accepted := (&github.AcceptedError{}); errors.As(err, &accepted) { // how the library says 202
			return nil
		}
		return err
	})
}
