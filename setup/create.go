package setup

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"regexp"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/solve"
)

// errNoAnswer says that no answer of GitHub waits to be put in its place.
var errNoAnswer = errors.New("no App was registered yet")

// codeShape bounds what is sent to GitHub as a code.
var codeShape = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// describe is the first page: what shall be registered.
func (s *Setup) describe(w http.ResponseWriter, r *http.Request) {
	if s.begunBefore() {
		http.Redirect(w, r, "/setup/check", http.StatusSeeOther)
		return
	}
	s.show(w, http.StatusOK, "describe", prefill(s.config(), r))
}

// begunBefore says whether an App was registered: by this process, or by one that was killed.
func (s *Setup) begunBefore() bool {
	if app, _ := s.registered(); app != nil {
		return true
	}
	_, err := os.Stat(s.config().secretFile(conversion))
	return err == nil
}

// described takes the first page's form and shows the one that goes to GitHub.
func (s *Setup) described(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	p, e := readPlan(r, s.config().GitHub)
	if len(e.Problems) > 0 {
		s.show(w, http.StatusUnprocessableEntity, "describe", e)
		return
	}
	m := NewManifest(p.PublicURL)
	m.Name, m.RedirectURL = p.Name, browserURL(r)+"/setup/created"
	text, err := json.Marshal(m)
	if err != nil {
		s.refused(w, r, http.StatusInternalServerError, err, "The manifest could not be written.")
		return
	}
	s.showTo(w, http.StatusOK, "create", map[string]any{"Plan": p, "Manifest": string(text), "Asks": m,
		"Action": p.newAppURL(s.session.begin(p))}, p.Host.Web)
}

// created is where GitHub sends the browser back with a code for the App's secrets.
func (s *Setup) created(w http.ResponseWriter, r *http.Request) {
	if s.begunBefore() {
		http.Redirect(w, r, "/setup/check", http.StatusSeeOther)
		return
	}
	p, ok := s.session.end(r.URL.Query().Get("state"))
	if !ok {
		s.refused(w, r, http.StatusForbidden, nil, "This answer belongs to no registration that was begun here, or to one "+
			"that began more than an hour ago, "+
			"or it was used already. If GitHub shows an App that you just made, delete it there.")
		return
	}
	code := r.URL.Query().Get("code")
	if !codeShape.MatchString(code) {
		s.refused(w, r, http.StatusBadRequest, nil, "GitHub's answer holds no code.")
		return
	}
	ctx := context.WithoutCancel(r.Context()) // a browser that leaves must not lose the key
	answer, err := ghapp.Redeem(ctx, p.apply(s.config()).GitHub, ghapp.Options{Transport: s.opts.Transport}, code)
	if err != nil {
		s.refused(w, r, http.StatusBadGateway, err, whyNotRedeemed(err))
		return
	}
	if err := s.keep(p, answer); err != nil {
		s.refused(w, r, http.StatusInternalServerError, err, "The new App's secrets could not be written to "+s.config().Dir+
			". Make it writable; delete the App on GitHub, since GitHub gives its key out only once.")
		return
	}
	if err := s.finish(ctx); err != nil {
		s.show(w, http.StatusBadGateway, "message", s.unfinished(r, err))
		return
	}
	http.Redirect(w, r, "/setup/check", http.StatusSeeOther)
}

// whyNotRedeemed is the public part of a refusal.
func whyNotRedeemed(err error) string {
	var limited *ghapp.LimitError
	switch {
	case errors.As(err, &limited):
		return "GitHub limits requests until " + limited.RetryAt().UTC().Format("15:04 MST") + ". Delete the App that " +
			"was just made on GitHub, and begin again then."
	case errors.Is(err, solve.ErrNotFound):
		return "GitHub does not know the code, or it was used already: it works once and for an hour. If GitHub shows " +
			"an App that you just made, delete it there."
	}
	var public interface{ Public() string }
	if errors.As(err, &public) {
		return public.Public() + ". Look into the log, delete the App that was just made on GitHub, and begin again."
	}
	return "GitHub did not give the App's secrets out. Look into the log, delete the App that was just made on GitHub, and begin again."
}

// keep writes GitHub's answer down, before anything else is done with it.
func (s *Setup) keep(p plan, answer ghapp.Secret) error {
	raw := json.RawMessage(answer.Reveal())
	if !json.Valid(raw) {
		return errors.New("GitHub's answer is not JSON")
	}
	text, err := json.Marshal(newApp{PublicURL: p.PublicURL, WebURL: p.Host.Web, V3APIURL: p.Host.V3, V4APIURL: p.Host.V4, Answer: raw})
	if err != nil {
		return errors.New("GitHub's answer cannot be written as JSON") // the cause could quote it
	}
	return keep(s.config().secretFile(conversion), text)
}

// finish gives everything in GitHub's answer its place, ending with the App's file.
// Every step can be done again: a set-up that was killed in between is finished by the next.
func (s *Setup) finish(ctx context.Context) error {
	cfg := s.config()
	data, err := os.ReadFile(cfg.secretFile(conversion))
	if errors.Is(err, fs.ErrNotExist) {
		return errNoAnswer
	}
	if err != nil {
		return fmt.Errorf("read GitHub's answer: %w", err)
	}
	var kept newApp
	err = json.Unmarshal(data, &kept)
	reg, bad := ghapp.ReadRegistration(ghapp.NewSecret(string(kept.Answer)))
	if err != nil || bad != nil {
		err := os.Rename(cfg.secretFile(conversion), cfg.secretFile(conversionBad))
		return errors.Join(fmt.Errorf("GitHub's answer is not whole (kept as %s)", cfg.secretFile(conversionBad)), bad, err)
	}
	next := plan{PublicURL: kept.PublicURL, Host: gitHub{kept.WebURL, kept.V3APIURL, kept.V4APIURL}}.apply(cfg)
	if reg.WebhookSecret, err = s.storeSecrets(ctx, next, reg); err != nil {
		return err
	}
	settings := settingsOf(next, reg)
	settings.Server.Address = s.opts.Address
	if err := cfg.write(settings, reg.Name); err != nil {
		return err
	}
	next.Take(settings)
	app, err := newAppClient(next, reg, s.opts.Transport)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.cfg, s.app, s.new = next, app, reg
	s.mu.Unlock()
	if err := os.Remove(cfg.secretFile(conversion)); err != nil {
		return fmt.Errorf("remove GitHub's answer, which is in its place: %w", err)
	}
	return nil
}

// storeSecrets writes the secrets to files of their own. An App that was made without a
// webhook secret gets one.
func (s *Setup) storeSecrets(ctx context.Context, cfg App, reg ghapp.Registration) (hook ghapp.Secret, err error) {
	hook = reg.WebhookSecret
	if hook.Empty() {
		data, err := os.ReadFile(cfg.secretFile(hookFile))
		if errors.Is(err, fs.ErrNotExist) {
			data, err = []byte(rand.Text()+rand.Text()), nil
		}
		if err != nil {
			return hook, fmt.Errorf("read the webhook's secret: %w", err)
		}
		hook = ghapp.NewSecret(string(data))
	}
	for _, f := range []struct {
		name   string
		secret ghapp.Secret
	}{{keyFile, reg.PrivateKey}, {clientFile, reg.ClientSecret}, {hookFile, hook}} {
		if err := keep(cfg.secretFile(f.name), []byte(f.secret.Reveal())); err != nil {
			return hook, err
		}
	}
	if !reg.WebhookSecret.Empty() {
		return hook, nil
	}
	app, err := newAppClient(cfg, reg, s.opts.Transport)
	if err != nil {
		return hook, err
	}
	return hook, app.SetHookSecret(ctx, hook)
}

func newAppClient(cfg App, reg ghapp.Registration, transport http.RoundTripper) (*ghapp.App, error) {
	return ghapp.New(cfg.GitHub, ghapp.Secrets{AppID: reg.ID, WebhookSecret: reg.WebhookSecret, PrivateKey: reg.PrivateKey},
		ghapp.Options{Transport: transport})
}

// settingsOf is what the App's file says.
func settingsOf(cfg App, reg ghapp.Registration) Settings {
	var s Settings
	s.Server.PublicURL = cfg.PublicURL
	s.GitHub.WebURL, s.GitHub.V3APIURL, s.GitHub.V4APIURL = cfg.GitHub.WebURL, cfg.GitHub.V3APIURL, cfg.GitHub.V4APIURL
	s.GitHub.App.IntegrationID = reg.ID
	s.GitHub.App.PrivateKeyFile = secretsDir + "/" + keyFile
	s.GitHub.App.WebhookSecretFile = secretsDir + "/" + hookFile
	if reg.ClientID != "" {
		s.GitHub.App.ClientID, s.GitHub.App.ClientSecretFile = reg.ClientID, secretsDir+"/"+clientFile
	}
	return s
}
