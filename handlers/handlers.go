// Package handlers turns GitHub's events into intents: one file per event, each a
// [githubapp.EventHandler] that decodes a payload, decides what it asks for, and
// hands delivery and intent to the store in one call. Nothing here is slow, nothing
// is remote, and nothing is kept in memory: when Handle returns nil, what was asked
// for is stored.
//
// Rights are not decided here. A payload says who asked; whether that person may is
// looked up live by whoever acts on the intent. Nor is anything stopped here: an event that
// ends a solve is a hint, and whoever acts on it reads the issue again.
//
// Programs ask for nothing: not our own app, whose every action comes back as an event,
// and no other. Only what stops a solve counts whoever did it, but for our own app.
// An action that is not named here is acknowledged and stores nothing.
package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

// DefaultLabel is the label that asks for a solve.
const DefaultLabel = "yudai:solve"

// ErrPayload says that a delivery of a handled event does not hold what GitHub
// documents for it. Sending it again cannot help; nothing was stored.
var ErrPayload = errors.New("malformed payload")

// Accepter stores a delivery and its intent in one durable step.
type Accepter interface {
	// Accept returns false, and has changed nothing, if the delivery's GUID is known.
	Accept(ctx context.Context, d solve.Delivery, w solve.Intent) (accepted bool, err error)
}

// Options of the handlers. Accepter is required.
type Options struct {
	Accepter Accepter
	// Bot is the login under which our own app writes, "<slug>[bot]".
	Bot string
	// AppID is our own app's: check runs and suites of other apps are none of ours.
	AppID int64
	// Labels ask for a solve, each with a profile; "" is the default one, which has no
	// name. nil is [DefaultLabel] with the default profile. The case of a label does not count.
	Labels map[string]string
	// LabelPrefix is what every other label begins with that asks for a solve, "" if none
	// does: the repository may have a profile with that label.
	LabelPrefix string
	// ReviseOnReview lets a review that requests changes ask for a revision.
	ReviseOnReview bool
	// Evict forgets what is kept of an installation whose rights changed or that is
	// gone; nil forgets nothing.
	Evict func(installation int64)
	// Vocabulary holds the names a command may use.
	Vocabulary Vocabulary
	Now        func() time.Time // nil is time.Now
	NewID      func() solve.ID  // nil makes xids
}

// New returns the handlers of all events that yudai listens to, one event each:
// a dispatcher gives an event to the first handler that names it and to no other.
func New(o Options) []githubapp.EventHandler {
	if o.Labels == nil {
		o.Labels = map[string]string{DefaultLabel: ""}
	}
	if o.Evict == nil {
		o.Evict = func(int64) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() solve.ID { return solve.ID(xid.New().String()) }
	}
	return []githubapp.EventHandler{
		issues{o}, issueComment{o}, checkRun{o}, checkSuite{o}, pullRequestReview{o},
		installation{o}, installationRepositories{o},
	}
}

// labels are the trigger labels, those of the default profile first.
func (o Options) labels() []string {
	list := slices.Collect(maps.Keys(o.Labels))
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(o.Labels[a], o.Labels[b]), cmp.Compare(a, b))
	})
	return list
}

// profile is what a label stands for: a profile's name, or the label itself where the
// repository may know what profile that is. ok is false if it is no trigger label.
func (o Options) profile(label string) (name string, ok bool) {
	for _, l := range o.labels() {
		if strings.EqualFold(l, label) {
			return o.Labels[l], true
		}
	}
	if n := len(o.LabelPrefix); n > 0 && len(label) > n && strings.EqualFold(label[:n], o.LabelPrefix) {
		return label, true
	}
	return "", false
}

// ours says whether a check is our own app's.
func (o Options) ours(a app) bool { return a.ID != 0 && a.ID == o.AppID }

// delivery is what is kept of a payload that asks for something.
func (o Options) delivery(event, guid string, p payload, raw []byte) solve.Delivery {
	return solve.Delivery{GUID: guid, Event: event, Action: p.Action, Payload: raw, Received: o.Now()}
}

// accept stores the delivery with its intent.
func (o Options) accept(ctx context.Context, d solve.Delivery, w solve.Intent) error {
	fresh, err := o.Accepter.Accept(ctx, d, w)
	if err != nil {
		return fmt.Errorf("accept delivery %s: %w", d.GUID, err)
	}
	log := zerolog.Ctx(ctx).Info().Str(logkey.DeliveryID, d.GUID).Str(logkey.Event, d.Event+"."+d.Action)
	switch {
	case !fresh:
		log.Msg("delivery is known, nothing changed")
	case w.Solve != nil:
		log.Str(logkey.SolveID, string(w.Solve.ID)).Str(logkey.Repo, w.Solve.Repo.String()).Msg("solve asked for")
	default:
		log.Str(logkey.State, string(w.Command.Kind)).Int64(logkey.InstallationID, w.Command.Repo.Installation).
			Str(logkey.Repo, w.Command.Repo.String()).Msg("ask stored")
	}
	return nil
}

// skip logs, under a constant message, why a delivery of a handled event leads to nothing.
func skip(ctx context.Context, p payload, guid, message string) error {
	zerolog.Ctx(ctx).Warn().Str(logkey.DeliveryID, guid).Str(logkey.Repo, p.repo().String()).Msg(message)
	return nil
}

// noInstallation is logged for deliveries of a webhook that belongs to a repository:
// without an installation there is no token to act with.
const noInstallation = "delivery ignored: its payload names no installation; send the app's webhooks, not a repository's"
