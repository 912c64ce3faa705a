// Package handlers turns GitHub's events into wishes: one file per event, each a
// [githubapp.EventHandler] that decodes a payload, decides what it asks for, and
// hands delivery and wish to the store in one call. Nothing here is slow, nothing
// is remote, and nothing is kept in memory: when Handle returns nil, what was asked
// for is stored.
//
// Rights are not decided here. A payload says who asked; whether that person may is
// looked up live by whoever acts on the wish.
package handlers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/solve"
)

// DefaultLabel is the label that asks for a solve.
const DefaultLabel = "yudai:solve"

// ErrPayload says that a delivery of a handled event does not hold what GitHub
// documents for it. Sending it again cannot help; nothing was stored.
var ErrPayload = errors.New("malformed payload")

// Accepter stores a delivery and its wish in one durable step.
type Accepter interface {
	// Accept returns false, and has changed nothing, if the delivery's GUID is known.
	Accept(ctx context.Context, d solve.Delivery, w solve.Wish) (accepted bool, err error)
}

// Options of the handlers. Accepter is required.
type Options struct {
	Accepter Accepter
	// Bot is the login under which our own app writes, "<slug>[bot]".
	Bot string
	// Label asks for a solve; "" is [DefaultLabel].
	Label string
	// Vocabulary holds the names a command may use.
	Vocabulary Vocabulary
	Now        func() time.Time // nil is time.Now
	NewID      func() solve.ID  // nil makes xids
}

// New returns the handlers of all events that yudai listens to, one event each:
// a dispatcher gives an event to the first handler that names it and to no other.
func New(o Options) []githubapp.EventHandler {
	if o.Label == "" {
		o.Label = DefaultLabel
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() solve.ID { return solve.ID(xid.New().String()) }
	}
	return []githubapp.EventHandler{issues{o}, issueComment{o}}
}

// accept stores the delivery with its wish.
func (o Options) accept(ctx context.Context, d solve.Delivery, w solve.Wish) error {
	fresh, err := o.Accepter.Accept(ctx, d, w)
	if err != nil {
		return fmt.Errorf("accept delivery %s: %w", d.GUID, err)
	}
	log := zerolog.Ctx(ctx).Info().Str("delivery_id", d.GUID).Str("event", d.Event+"."+d.Action)
	switch {
	case !fresh:
		log.Msg("delivery is known, nothing changed")
	case w.Solve != nil:
		log.Str("solve_id", string(w.Solve.ID)).Str("repo", w.Solve.Repo.String()).Msg("solve asked for")
	default:
		log.Str("state", string(w.Ask.Kind)).Str("repo", w.Ask.Repo.String()).Msg("question stored")
	}
	return nil
}

// skip logs, under a constant message, why a delivery of a handled event leads to nothing.
func skip(ctx context.Context, p payload, guid, message string) error {
	zerolog.Ctx(ctx).Warn().Str("delivery_id", guid).Str("repo", p.repo().String()).Msg(message)
	return nil
}

// noInstallation is logged for deliveries of a webhook that belongs to a repository:
// without an installation there is no token to act with.
const noInstallation = "delivery ignored: its payload names no installation; send the app's webhooks, not a repository's"
