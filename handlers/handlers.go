// Package handlers turns GitHub's events into intents, with one file for each event. A
// handler decodes a payload, decides what it asks for, and hands delivery and intent to
// the store in one call. It does nothing slow or remote, and keeps nothing in memory:
// when Handle returns nil, the intent is stored.
//
// Permissions are not checked here: a payload says who asked, and the code that acts on
// the intent asks GitHub what that person may do. Nothing is stopped here either: an event
// that ends a solve is a hint, and the code that acts on it reads the issue again.
//
// Programs cannot ask for anything: not our own app, whose every action comes back as an
// event, and no other. An event that stops a solve counts whoever caused it, except our
// own app. Other actions are acknowledged and store nothing.
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

// Options configure the handlers. Accepter is required.
type Options struct {
	Accepter Accepter
	// Bot is the login under which our own app writes, "<slug>[bot]".
	Bot string
	// Self tells Bot where it is not known yet; nil is Bot.
	Self func() string
	// AppID is our own app's; check runs and suites of other apps are ignored.
	AppID int64
	// Labels maps each trigger label to its profile; "" is the default profile. nil means
	// [DefaultLabel] with the default profile. The case of a label does not matter.
	Labels map[string]string
	// LabelPrefix is the prefix of other trigger labels, "" if there are none: a repository
	// may have a profile with such a label.
	LabelPrefix string
	// ReviseOnReview lets a review that requests changes ask for a revision.
	ReviseOnReview bool
	// Evict forgets the tokens of an installation that changed or is gone; nil does nothing.
	Evict func(installation int64)
	// Vocabulary holds the names a command may use.
	Vocabulary Vocabulary
	// Keep is how long the store remembers what deliveries asked for: an older event asks for
	// nothing. 0 says that it does not remember, so that only GUIDs count.
	Keep  time.Duration
	Now   func() time.Time // nil is time.Now
	NewID func() solve.ID  // nil makes xids
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
		handler{o, "issues", issueIntent, payload.checkIssue},
		handler{o, "issue_comment", commentIntent, payload.checkComment},
		handler{o, "check_run", checkRunIntent, payload.checkRepo},
		handler{o, "check_suite", checkSuiteIntent, payload.checkRepo},
		handler{o, "pull_request_review", reviewIntent, payload.checkPull},
		handler{o, "pull_request", pullIntent, payload.checkPull},
		handler{o, "installation", installationIntent, payload.checkInstallation},
		handler{o, "installation_repositories", removedRepositoriesIntent, payload.checkInstallation},
	}
}

// handler handles one event.
type handler struct {
	Options
	event string
	// intent is what a delivery asks for, the zero value if nothing.
	intent func(Options, payload, solve.Delivery) solve.Intent
	// check reports what is missing in a payload that asks for something.
	check func(payload) error
}

// Handles implements [githubapp.EventHandler].
func (h handler) Handles() []string { return []string{h.event} }

// Handle implements [githubapp.EventHandler].
func (h handler) Handle(ctx context.Context, event, guid string, raw []byte) error {
	p, err := decode(raw)
	if err != nil {
		return err
	}
	if h.Self != nil {
		h.Bot = h.Self()
	}
	d := h.delivery(event, guid, p, raw)
	intent := h.intent(h.Options, p, d)
	// A token has the rights it was made with: whenever an installation's rights change,
	// what is kept of it is forgotten.
	evict := strings.HasPrefix(h.event, "installation") && Wanted(h.event, p.Action)
	if intent == (solve.Intent{}) && !evict {
		return nil
	}
	if err := h.check(p); err != nil {
		return err
	}
	switch {
	case p.Installation.ID == 0:
		return skip(ctx, p, guid, noInstallation)
	case h.event == "issues" && p.onPull():
		return skip(ctx, p, guid, "delivery ignored: label or state of a pull request")
	}
	if evict {
		h.Evict(p.Installation.ID)
	}
	if intent == (solve.Intent{}) {
		return nil
	}
	if h.Keep > 0 {
		d.About = p.about(intent)
	}
	switch age := p.age(d.Received); {
	case h.Keep == 0:
	case age > h.Keep: // whether it is known is forgotten
		return skip(ctx, p, guid, "delivery ignored: its event is too old")
	case age > lateAfter:
		p.late(intent)
	}
	return h.accept(ctx, d, intent)
}

// labels are the trigger labels, those of the default profile first.
func (o Options) labels() []string {
	list := slices.Collect(maps.Keys(o.Labels))
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(o.Labels[a], o.Labels[b]), cmp.Compare(a, b))
	})
	return list
}

// profile is the profile of a label, or the label itself where only the repository can
// know the profile. ok is false if it is not a trigger label.
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

// delivery is the stored part of a delivery.
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
			Str(logkey.Repo, w.Command.Repo.String()).Msg("command stored")
	}
	return nil
}

// skip logs why a delivery of a handled event is ignored.
func skip(ctx context.Context, p payload, guid, message string) error {
	zerolog.Ctx(ctx).Warn().Str(logkey.DeliveryID, guid).Str(logkey.Repo, p.repo().String()).Msg(message)
	return nil
}

// noInstallation is logged for deliveries of a webhook that belongs to a repository:
// without an installation there is no token to act with.
const noInstallation = "delivery ignored: its payload names no installation; send the app's webhooks, not a repository's"
