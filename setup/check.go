package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/handlers"
)

// pingEvent is the first event that GitHub sends.
const pingEvent = "ping"

// checkTime bounds the questions of one look at GitHub.
const checkTime = 15 * time.Second

// errSetup answers real events: they are swept from GitHub's log when the bot serves.
var errSetup = errors.New("the set-up is not finished")

// arrivals is what came in by webhook during the set-up.
type arrivals struct {
	seen  time.Time // a delivery with a right signature; zero if none came
	asked time.Time // GitHub was asked to send one again; zero if not
}

// hook takes GitHub's webhooks during the set-up: it looks at the signature, and
// stores nothing. All but the ping are refused, so that GitHub lists them as failed.
func (s *Setup) hook(w http.ResponseWriter, r *http.Request) {
	_, reg := s.registered()
	if reg.ID == 0 {
		http.Error(w, "no App is registered here yet", http.StatusServiceUnavailable)
		return
	}
	intake, err := s.opts.Intake(reg.WebhookSecret.Reveal(), []githubapp.EventHandler{notServing{s}})
	if err != nil {
		zerolog.Ctx(r.Context()).Error().Err(err).Msg("webhook refused")
		http.Error(w, "no secret", http.StatusServiceUnavailable)
		return
	}
	intake.ServeHTTP(w, r)
}

// notServing refuses every event but the ping, so that GitHub lists it as failed and it is
// delivered later.
type notServing struct{ s *Setup }

// Handles names the events.
func (notServing) Handles() []string {
	events := []string{pingEvent}
	for _, h := range handlers.New(handlers.Options{}) {
		events = append(events, h.Handles()...)
	}
	return events
}

// Handle is called after the signature was found right.
func (n notServing) Handle(_ context.Context, event, _ string, _ []byte) error {
	n.s.mu.Lock()
	n.s.delivery.seen = time.Now()
	n.s.mu.Unlock()
	if event == pingEvent {
		return nil
	}
	return errSetup
}

// check is the last page: the App as GitHub has it, looked at anew each time.
func (s *Setup) check(w http.ResponseWriter, r *http.Request) {
	app, reg := s.registered()
	if app == nil {
		if err := s.finish(r.Context()); err != nil {
			if errors.Is(err, errNoAnswer) {
				http.Redirect(w, r, "/setup", http.StatusSeeOther)
				return
			}
			s.show(w, http.StatusBadGateway, "message", s.unfinished(r, err))
			return
		}
		app, reg = s.registered()
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkTime)
	defer cancel()
	found := s.look(ctx, app)
	good := true
	for _, f := range found {
		good = good && f.Level != Bad
	}
	s.show(w, http.StatusOK, "check", map[string]any{
		"App": reg, "Findings": found, "Good": good, "Install": reg.HTMLURL + "/installations/new", "State": s.config().File(),
	})
}

// unfinished is the page for an App that is registered and cannot be used yet.
func (s *Setup) unfinished(r *http.Request, err error) map[string]any {
	zerolog.Ctx(r.Context()).Error().Err(err).Msg("the registered App cannot be used yet")
	return map[string]any{
		"Title": "Almost there",
		"Text": "The App is registered and GitHub's answer is on this machine, but not everything is in its place yet. " +
			"The log says why. Nothing is lost: try again, also after a restart.",
		"Again": "/setup/check",
	}
}

// look asks GitHub for everything that has to be right.
func (s *Setup) look(ctx context.Context, app *ghapp.App) []Finding {
	who, err := app.Identity(ctx)
	if err != nil {
		return []Finding{s.unknown(ctx, "App", err)}
	}
	found := appFindings(ctx, app, s.config().PublicURL,
		func(what string, err error) Finding { return s.unknown(ctx, what, err) },
		func() Finding { return s.testDelivery(ctx, app) })
	return append([]Finding{{Good, "App", who.Slug + " answers to its new key", ""}}, found...)
}

// unknown is a check that GitHub did not answer.
func (s *Setup) unknown(ctx context.Context, what string, err error) Finding {
	zerolog.Ctx(ctx).Error().Err(err).Msg("GitHub did not answer the set-up's check")
	text := "GitHub did not answer"
	var public interface{ Public() string }
	if errors.As(err, &public) {
		text = public.Public()
	}
	return Finding{Bad, what, text, "the page asks again by itself; the log says more"}
}

// testDelivery says whether a webhook came through, and has GitHub send its first
// ping again: when that was sent, nobody here knew the secret yet.
func (s *Setup) testDelivery(ctx context.Context, app *ghapp.App) Finding {
	s.mu.Lock()
	d := s.delivery
	s.mu.Unlock()
	if !d.seen.IsZero() {
		return Finding{Good, "delivery",
			"GitHub's webhook arrived here at " + d.seen.UTC().Format("15:04:05 MST") + ", its signature is right", ""}
	}
	all, err := app.HookDeliveries(ctx, 20)
	if err != nil {
		return s.unknown(ctx, "delivery", err)
	}
	if len(all) == 0 {
		return Finding{Bad, "delivery", "GitHub has sent nothing yet", "wait a moment; installing the App makes GitHub send something"}
	}
	if !d.asked.IsZero() && all[0].At.After(d.asked) && !all[0].OK() {
		return Finding{Bad, "delivery", "GitHub could not deliver its test: " + answerOf(all[0]), fixOf(all[0])}
	}
	if d.asked.IsZero() {
		if err := s.askAgain(ctx, app, all); err != nil {
			return s.unknown(ctx, "delivery", err)
		}
	}
	return Finding{Bad, "delivery", "GitHub was asked to send its test again; it has not arrived yet",
		"wait a moment; if it does not come, let the public URL lead to this server"}
}

// askAgain has GitHub deliver its newest ping once more, else the newest of all.
func (s *Setup) askAgain(ctx context.Context, app *ghapp.App, all []ghapp.HookDelivery) error {
	pick := all[0]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Event == pingEvent {
			pick = all[i]
		}
	}
	s.mu.Lock()
	s.delivery.asked = time.Now().Add(-time.Second) // GitHub's clock may be a little behind
	s.mu.Unlock()
	return app.Redeliver(ctx, pick)
}

// checkAgain is the button that forgets the last test and asks for another.
func (s *Setup) checkAgain(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.delivery = arrivals{}
	s.mu.Unlock()
	http.Redirect(w, r, "/setup/check", http.StatusSeeOther)
}

// finished is the button that makes this process the bot.
func (s *Setup) finished(w http.ResponseWriter, r *http.Request) {
	app, reg := s.registered()
	if app == nil {
		http.Redirect(w, r, "/setup", http.StatusSeeOther)
		return
	}
	if err := s.opts.Start(r.Context(), s.config()); err != nil {
		s.show(w, http.StatusServiceUnavailable, "message", map[string]any{
			"Title": "yudai cannot work here yet",
			"Text": fmt.Sprintf("The App is registered, but the program does not start: %s. Mend that and try again; `yudai doctor` says more. "+
				"A restart with `yudai serve` does the same.", ghapp.Redact(err.Error())),
			"Again": "/setup/check",
		})
		return
	}
	s.show(w, http.StatusOK, "done", map[string]any{"App": reg, "Label": s.opts.Label, "Command": "/yudai solve",
		"State": s.config().File()})
}
