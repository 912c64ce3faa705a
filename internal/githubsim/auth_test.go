package githubsim_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"
	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

// mint makes an installation token with the app's client.
func (w *world) mint(opts *github.InstallationTokenOptions) *github.InstallationToken {
	w.t.Helper()
	token, _, err := w.jwt.Apps.CreateInstallationToken(w.t.Context(), w.inst.ID, opts)
	check(w.t, err)
	return token
}

// as is a client with a fixed token.
func (w *world) as(token string) *github.Client {
	return w.point(github.NewClient(&http.Client{Transport: w.base}).WithAuthToken(token))
}

func TestTokenShapes(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{Tokens: githubsim.TokenAlternate})
	classic, stateless := regexp.MustCompile(`^ghs_[A-Za-z0-9]{36}$`), regexp.MustCompile(`^ghs_\d+_[\w-]+\.[\w-]+\.[\w-]+$`)
	first, second := w.mint(nil).GetToken(), w.mint(nil).GetToken()
	if !classic.MatchString(first) || !stateless.MatchString(second) {
		t.Errorf("tokens %s, %s", first, second)
	}
	if n := len(second); n < 480 || n > 560 {
		t.Errorf("stateless token has %d characters", n)
	}
	for _, token := range []string{first, second} {
		_, _, err := w.as(token).Repositories.Get(t.Context(), owner, name)
		check(t, err)
	}
}

func TestTokenEnds(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx := t.Context()
	revoked, expired := w.as(w.mint(nil).GetToken()), w.as(w.mint(nil).GetToken())
	_, err := revoked.Apps.RevokeInstallationToken(ctx)
	check(t, err)
	_, _, err = revoked.Repositories.Get(ctx, owner, name)
	refused(t, err, http.StatusUnauthorized)
	_, _, err = expired.Repositories.Get(ctx, owner, name)
	check(t, err)
	w.hub.Advance(time.Hour)
	_, _, err = expired.Repositories.Get(ctx, owner, name)
	refused(t, err, http.StatusUnauthorized)
}

func TestExpireTokens(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	client := w.as(w.mint(nil).GetToken())
	w.hub.ExpireTokens()
	_, _, err := client.Repositories.Get(t.Context(), owner, name)
	refused(t, err, http.StatusUnauthorized)
	_, _, err = w.as(w.mint(nil).GetToken()).Repositories.Get(t.Context(), owner, name)
	check(t, err)
}

// TestTokenNarrowing: permissions and repositories only ever shrink, and the
// answers say which right was missing.
func TestTokenNarrowing(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx := t.Context()
	_, err := w.hub.CreateRepo(owner, "second", map[string]string{"a": "a"})
	check(t, err)
	token := w.mint(&github.InstallationTokenOptions{
		Repositories: []string{name}, Permissions: &github.InstallationPermissions{Contents: github.String("read")},
	})
	if token.GetPermissions().GetContents() != "read" || token.GetPermissions().Issues != nil || len(token.Repositories) != 1 {
		t.Errorf("token %v", token)
	}
	client := w.as(token.GetToken())
	_, _, err = client.Git.GetRef(ctx, owner, name, "heads/main")
	check(t, err)
	_, _, err = client.Repositories.GetPermissionLevel(ctx, owner, name, maya)
	check(t, err)
	_, _, err = client.Issues.CreateComment(ctx, owner, name, w.issue, &github.IssueComment{Body: github.String("no")})
	resp := refused(t, err, http.StatusForbidden)
	if resp.Message != "Resource not accessible by integration" || resp.Response.Header.Get("X-Accepted-GitHub-Permissions") != "issues=write; pull_requests=write" {
		t.Errorf("refusal %q, %v", resp.Message, resp.Response.Header)
	}
	_, _, err = client.Git.CreateBlob(ctx, owner, name, &github.Blob{Content: github.String("x"), Encoding: github.String("utf-8")})
	refused(t, err, http.StatusForbidden)
	_, _, err = client.Repositories.Get(ctx, owner, "second")
	refused(t, err, http.StatusNotFound)

	for _, opts := range []*github.InstallationTokenOptions{
		{Permissions: &github.InstallationPermissions{Actions: github.String("write")}},
		{Repositories: []string{"nowhere"}},
	} {
		_, _, err = w.jwt.Apps.CreateInstallationToken(ctx, w.inst.ID, opts)
		refused(t, err, http.StatusUnprocessableEntity)
	}
}

func TestInstallationStates(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx := t.Context()
	client := w.as(w.mint(nil).GetToken())
	check(t, w.hub.Suspend(w.inst))
	_, _, err := client.Repositories.Get(ctx, owner, name)
	refused(t, err, http.StatusForbidden)
	_, _, err = w.jwt.Apps.CreateInstallationToken(ctx, w.inst.ID, nil)
	refused(t, err, http.StatusForbidden)
	check(t, w.hub.Unsuspend(w.inst))
	_, _, err = client.Repositories.Get(ctx, owner, name)
	check(t, err)
	check(t, w.hub.Grant(w.inst, map[string]string{"issues": "read"}))
	_, _, err = w.as(w.mint(nil).GetToken()).Checks.GetCheckRun(ctx, owner, name, 1)
	refused(t, err, http.StatusForbidden)
	check(t, w.hub.Uninstall(w.inst))
	_, _, err = client.Repositories.Get(ctx, owner, name)
	refused(t, err, http.StatusUnauthorized)
	_, _, err = w.jwt.Apps.CreateInstallationToken(ctx, w.inst.ID, nil)
	refused(t, err, http.StatusNotFound)
	_, _, err = w.jwt.Apps.FindRepositoryInstallation(ctx, owner, name)
	refused(t, err, http.StatusNotFound)
}

// TestJWTRules: GitHub's conditions on an app's JWT, one broken at a time.
func TestJWTRules(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	key, err := jwt.ParseRSAPrivateKeyFromPEM(w.app.PrivateKeyPEM)
	check(t, err)
	now := time.Now()
	good := jwt.MapClaims{"iss": w.app.ID, "iat": now.Add(-30 * time.Second).Unix(), "exp": now.Add(9 * time.Minute).Unix()}
	for _, tc := range []struct {
		what   string
		claim  string
		value  any
		status int
	}{
		{"good", "iss", w.app.ID, http.StatusOK},
		{"unknown app", "iss", 99, http.StatusNotFound},
		{"from the future", "iat", now.Add(5 * time.Minute).Unix(), http.StatusUnauthorized},
		{"expired", "exp", now.Add(-time.Second).Unix(), http.StatusUnauthorized},
		{"too long", "exp", now.Add(11 * time.Minute).Unix(), http.StatusUnauthorized},
		{"no expiry", "exp", nil, http.StatusUnauthorized},
	} {
		claims := jwt.MapClaims{}
		for k, v := range good {
			claims[k] = v
		}
		claims[tc.claim] = tc.value
		text, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(key)
		check(t, err)
		_, resp, err := w.as(text).Apps.Get(t.Context(), "")
		if resp == nil || resp.StatusCode != tc.status {
			t.Errorf("%s: %v, want status %d", tc.what, err, tc.status)
		}
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, good).SignedString([]byte("x"))
	check(t, err)
	_, _, err = w.as(text).Apps.Get(t.Context(), "")
	refused(t, err, http.StatusUnauthorized)
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, good).SignedString(key)
	check(t, err)
	_, _, err = w.as(signed[:strings.LastIndex(signed, ".")]+".AAAA").Apps.Get(t.Context(), "")
	refused(t, err, http.StatusUnauthorized)
}

func TestNoCredentials(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	_, _, err := w.point(github.NewClient(&http.Client{Transport: w.base})).Repositories.Get(t.Context(), owner, name)
	refused(t, err, http.StatusUnauthorized)
	_, _, err = w.client.Apps.Get(t.Context(), "") // an installation is not an app
	refused(t, err, http.StatusUnauthorized)
}

func TestRoles(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	for role, want := range map[string]string{
		"admin": "admin", "maintain": "write", "write": "write", "triage": "read", "read": "read", "none": "none",
	} {
		check(t, w.hub.SetPermission(full, otto, role))
		level, _, err := w.client.Repositories.GetPermissionLevel(t.Context(), owner, name, otto)
		check(t, err)
		if level.GetPermission() != want || level.GetRoleName() != role {
			t.Errorf("%s: permission %s, role %s", role, level.GetPermission(), level.GetRoleName())
		}
	}
	if err := w.hub.SetPermission(full, otto, "king"); err == nil {
		t.Error("a role that is none was taken")
	}
	w.hub.CreateUser("stranger")
	check(t, w.hub.SetPrivate(full, true))
	level, _, err := w.client.Repositories.GetPermissionLevel(t.Context(), owner, name, "stranger")
	check(t, err)
	if level.GetPermission() != "none" {
		t.Errorf("a stranger may %s on a private repository", level.GetPermission())
	}
	_, _, err = w.client.Repositories.GetPermissionLevel(t.Context(), owner, name, "nobody-here")
	refused(t, err, http.StatusNotFound)
}
