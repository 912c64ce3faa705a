package api_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
)

// newReader is the program's GitHubReader before a GitHub with one repository and four issues.
func newReader(t *testing.T) api.GitHubReader {
	t.Helper()
	answers := map[string]string{
		"GET /repos/octo/hello/installation":      `{"id": 7}`,
		"POST /app/installations/7/access_tokens": `{"token": "ghs_x", "expires_at": "` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`,
		"GET /repos/octo/hello":                   `{"id": 1, "name": "hello", "owner": {"login": "octo"}, "default_branch": "main"}`,
		"GET /repos/octo/hello/issues/1":          `{"number": 1, "state": "open", "title": "It breaks", "body": "always", "user": {"login": "kim"}}`,
		"GET /repos/octo/hello/issues/2":          `{"number": 2, "state": "closed"}`,
		"GET /repos/octo/hello/issues/3":          `{"number": 3, "state": "open", "pull_request": {"url": "x"}}`,
		"GET /repos/octo/hello/issues/4":          "",
	}
	github := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.Method+" "+r.URL.Path]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			body = `{"message": "Not Found"}`
		case body == "":
			w.WriteHeader(http.StatusBadGateway)
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusCreated)
		}
		io.WriteString(w, body)
	}))
	t.Cleanup(github.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	cfg := ghapp.DefaultConfig()
	cfg.V3APIURL = github.URL
	app, err := ghapp.New(cfg, ghapp.Secrets{AppID: 1, PrivateKey: ghapp.NewSecret(string(text))}, ghapp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return api.AppReader{App: app}
}

func TestHubAsksGitHub(t *testing.T) {
	t.Parallel()
	hub, ctx := newReader(t), context.Background()
	repo, err := hub.Repo(ctx, "octo", "hello")
	want := solve.Repo{Installation: 7, ID: 1, Owner: "octo", Name: "hello", DefaultBranch: "main"}
	if diff := cmp.Diff(want, repo); diff != "" || err != nil {
		t.Fatalf("%v %s", err, diff)
	}
	issue, err := hub.Issue(ctx, repo, 1)
	if diff := cmp.Diff(solve.Issue{Number: 1, Title: "It breaks", Body: "always", Author: "kim"}, issue); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	refusal := func(err error) string {
		var r api.Refusal
		errors.As(err, &r)
		return string(r)
	}
	_, err = hub.Repo(ctx, "octo", "other")
	if got := refusal(err); !strings.Contains(got, "not installed") {
		t.Errorf("a repository without the App: %v", err)
	}
	for number, want := range map[int]string{2: "closed", 3: "pull request", 4: "", 5: "no such issue"} {
		_, err := hub.Issue(ctx, repo, number)
		if got := refusal(err); err == nil || !strings.Contains(got, want) || (want == "" && got != "") {
			t.Errorf("issue %d: %v", number, err)
		}
	}
}
