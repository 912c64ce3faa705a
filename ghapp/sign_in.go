package ghapp

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"golang.org/x/oauth2"

	"github.com/yudai-dev/yudai/solve"
)

// SignIn finds out who people are: GitHub's web application flow, with the App as the client.
type SignIn struct {
	app  *App
	conf oauth2.Config
}

// SignIn signs people in who are sent back to callback, an absolute URL that the App names. It is nil without a
// client ID or secret.
func (a *App) SignIn(secret Secret, callback string) *SignIn {
	web := strings.TrimSuffix(a.cfg.WebURL, "/")
	if a.cfg.App.ClientID == "" || secret.Empty() {
		return nil
	}
	return &SignIn{a, oauth2.Config{
		ClientID: a.cfg.App.ClientID, ClientSecret: secret.Reveal(), RedirectURL: callback,
		Endpoint: oauth2.Endpoint{
			AuthURL: web + "/login/oauth/authorize", TokenURL: web + "/login/oauth/access_token", AuthStyle: oauth2.AuthStyleInParams,
		},
	}}
}

// URL is where a browser goes to sign in. GitHub sends it back with the state and a code; only who knows the
// verifier, 43 to 128 letters and digits, can use that code.
func (s *SignIn) URL(state, verifier string) string {
	return s.conf.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier))
}

// Person finds out whose code it is. A code works once. The token that it brings is used for this question and
// forgotten. No error holds the code, the token or the secret.
func (s *SignIn) Person(ctx context.Context, code, verifier string) (solve.Person, error) {
	ctx, cancel := context.WithTimeout(ctx, s.app.cfg.Write.Timeout)
	defer cancel()
	client := &http.Client{Transport: s.app.base, CheckRedirect: sameMethod}
	token, err := s.conf.Exchange(context.WithValue(ctx, oauth2.HTTPClient, client), code, oauth2.VerifierOption(verifier))
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return solve.Person{}, &callError{
			action: "sign in", status: refused.Response.StatusCode, text: "GitHub says " + solve.OneLine(refused.ErrorCode),
		}
	}
	if err != nil {
		return solve.Person{}, wrap("sign in", err)
	}
	user, _, err := s.app.newClient(s.app.base, "sign-in").WithAuthToken(token.AccessToken).Users.Get(ctx, "")
	if err != nil {
		return solve.Person{}, wrap("read who signed in", err)
	}
	if user.GetID() == 0 || user.GetLogin() == "" {
		return solve.Person{}, malformed("person")
	}
	return solve.Person{ID: user.GetID(), Login: user.GetLogin()}, nil
}
