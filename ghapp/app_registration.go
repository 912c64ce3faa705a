package ghapp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v66/github"
)

// Registration is a new App with its secrets, which GitHub gives out once.
type Registration struct {
	ID                   int64
	Slug, Name, ClientID string
	// HTMLURL is the App's page; "/installations/new" below it installs it.
	HTMLURL string
	// WebhookSecret is empty if GitHub made none.
	ClientSecret, WebhookSecret, PrivateKey Secret
}

// Redeem exchanges the code that GitHub gave the browser for the new App and
// its secrets. A code works once: the answer comes back as GitHub sent it, to be
// stored before anything else is done; see [ReadRegistration]. The error of a
// code that is unknown or used is solve.ErrNotFound; no error holds the code.
func Redeem(ctx context.Context, cfg Config, opts Options, code string) (answer Secret, err error) {
	a, err := unsigned(cfg, opts)
	if err != nil {
		return Secret{}, err
	}
	c := a.newClient(a.limited(a.backoff(0)), "setup")
	ctx, cancel := context.WithTimeout(ctx, cfg.Write.Timeout)
	defer cancel()
	var out bytes.Buffer
	req, err := c.NewRequest(http.MethodPost, "app-manifests/"+url.PathEscape(code)+"/conversions", nil)
	if err == nil {
		_, err = c.Do(ctx, req, &out)
	}
	if err != nil {
		err = wrap("redeem the code of the new App", err)
		var e *callError
		if errors.As(err, &e) {
			e.text = strings.ReplaceAll(e.text, code, redacted)
		}
		return Secret{}, err
	}
	return NewSecret(out.String()), nil
}

// ReadRegistration reads the answer of [Redeem] and checks that it is whole.
func ReadRegistration(answer Secret) (Registration, error) {
	var app github.AppConfig
	if err := json.Unmarshal([]byte(answer.Reveal()), &app); err != nil {
		return Registration{}, errors.New("read the new App: GitHub's answer is not the JSON of an App") // the cause could quote it
	}
	r := Registration{
		ID: app.GetID(), Slug: app.GetSlug(), Name: app.GetName(), ClientID: app.GetClientID(), HTMLURL: app.GetHTMLURL(),
		ClientSecret: NewSecret(app.GetClientSecret()), WebhookSecret: NewSecret(app.GetWebhookSecret()), PrivateKey: NewSecret(app.GetPEM()),
	}
	if r.ID <= 0 || r.Slug == "" || badURL(r.HTMLURL) != "" {
		return Registration{}, malformed("new App")
	}
	if _, err := parseKey(r.PrivateKey.Reveal()); err != nil {
		return Registration{}, fmt.Errorf("read the new App's private key: %w", err)
	}
	return r, nil
}
