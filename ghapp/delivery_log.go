package ghapp

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"
)

// LoggedDelivery is a delivery in GitHub's own log, without its payload.
type LoggedDelivery struct {
	// ID is of the attempt that was logged last.
	ID                  int64
	GUID, Event, Action string
	// At is when it was sent first, of the attempts that were looked at.
	At time.Time
	// Acknowledged says that an attempt was answered with a 2xx: whoever answered
	// had it stored, and may not be who asks now.
	Acknowledged bool
}

// Deliveries reads GitHub's log of the App's deliveries back to since and returns
// those whose kind is wanted, the oldest first, each once however often it was sent.
func (a *App) Deliveries(ctx context.Context, since time.Time, wanted func(event, action string) bool) ([]LoggedDelivery, error) {
	found := map[string]LoggedDelivery{}
	opts := &github.ListCursorOptions{PerPage: perPage}
	for {
		var page []*github.HookDelivery
		var resp *github.Response
		err := a.asAppDo(ctx, "read the delivery log", func(ctx context.Context, c *github.Client) (err error) {
			page, resp, err = c.Apps.ListHookDeliveries(ctx, opts)
			return err
		})
		if err != nil {
			return nil, err
		}
		old := false
		for _, row := range page {
			switch {
			case row.GetDeliveredAt().Before(since):
				old = true
			case row.GetGUID() != "" && wanted(row.GetEvent(), row.GetAction()):
				note(found, row)
			}
		}
		if old || len(page) == 0 || resp.Cursor == "" || resp.Cursor == opts.Cursor {
			return byAge(found), nil
		}
		opts.Cursor = resp.Cursor
	}
}

// note adds an attempt to what is known of its delivery. Newer attempts come first.
func note(found map[string]LoggedDelivery, row *github.HookDelivery) {
	guid := strings.ToLower(row.GetGUID())
	d, again := found[guid]
	if !again {
		d = LoggedDelivery{ID: row.GetID(), GUID: guid, Event: row.GetEvent(), Action: row.GetAction()}
	}
	if at := row.GetDeliveredAt().Time; !again || at.Before(d.At) {
		d.At = at
	}
	if code := row.GetStatusCode(); code >= http.StatusOK && code < http.StatusMultipleChoices {
		d.Acknowledged = true
	}
	found[guid] = d
}

// byAge are the deliveries as they were sent; those of one instant as they were numbered.
func byAge(found map[string]LoggedDelivery) []LoggedDelivery {
	return slices.SortedFunc(maps.Values(found), func(a, b LoggedDelivery) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
}

// Payload reads what a delivery of the log carried; [solve.ErrNotFound] if it is no
// longer logged.
func (a *App) Payload(ctx context.Context, id int64) ([]byte, error) {
	answer, err := get(ctx, a.asAppDo, "read a delivery",
		func(ctx context.Context, c *github.Client) (*github.HookDelivery, *github.Response, error) {
			return c.Apps.GetHookDelivery(ctx, id)
		})
	switch {
	case err != nil:
		return nil, err
	case answer.Request == nil || answer.Request.RawPayload == nil:
		return nil, malformed("payload")
	}
	return *answer.Request.RawPayload, nil
}
