// Package api is the REST API: ask for a solve, list solves, follow one, cancel it, export it, back up the store, check
// the settings of a repository; with its OpenAPI description and the page made from it.
package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
)

// GitHubReader is what the REST API asks GitHub, live, at every call.
type GitHubReader interface {
	// Repo finds a repository that the App is installed on; a [Refusal] if it is not.
	Repo(ctx context.Context, owner, name string) (solve.Repo, error)
	// Issue reads an issue that can be solved; a [Refusal] if there is none of that
	// number, or it is closed, or a pull request.
	Issue(ctx context.Context, repo solve.Repo, number int) (solve.Issue, error)
}

// Refusal is an error that the caller of the API can mend; it is shown as it is.
type Refusal string

// Error is the text.
func (r Refusal) Error() string { return string(r) }

// Solves is what the REST API needs of a store.
type Solves interface {
	Create(ctx context.Context, s solve.Solve) (stored solve.Solve, created bool, err error)
	Solve(ctx context.Context, id solve.ID) (solve.Solve, error)
	// Solves are at most that many whose ID is below before, or of all for "", the newest first.
	Solves(ctx context.Context, before solve.ID, most int) ([]solve.Solve, error)
	Runs(ctx context.Context, id solve.ID) ([]solve.Run, error)
	Run(ctx context.Context, id solve.ID, n int) (solve.Run, error)
	Events(ctx context.Context, id solve.ID, after uint64) ([]solve.Entry, error)
	// Watch returns a channel that gets a value, coalesced, after every change.
	Watch(ctx context.Context) <-chan struct{}
	Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error)
	TrackRecords(ctx context.Context) ([]solve.TrackRecord, error)
	// RequestCancel notes that somebody wants the solve stopped; nothing changes for one that has ended.
	RequestCancel(ctx context.Context, id solve.ID, by, why string) (solve.Solve, error)
}

// API is the REST API. All fields but PublicURL and Token are required.
type API struct {
	Solves Solves
	GitHub GitHubReader
	// Record exports a solve; solve.ErrNotFound if there is none.
	Record func(ctx context.Context, id solve.ID) (solve.Record, error)
	// Bundle finds the signed bundle of a solve and returns what writes it; solve.ErrNotFound if there is none.
	Bundle func(ctx context.Context, id solve.ID) (write func(io.Writer) error, err error)
	// Log reads the log of a run from a line on: what its agent did, or, with tests, what the tests of its candidate
	// printed; next is the number of the line behind. solve.ErrNotFound if there is none.
	Log func(ctx context.Context, r solve.Run, tests bool, from int) (lines []byte, next int, err error)
	// Stopped is closed when streams have to end; nil is never.
	Stopped <-chan struct{}
	// Backup writes a copy of everything stored, as a tar; nil if the store is backed up by other programs.
	Backup func(ctx context.Context, w io.Writer) error
	// Token is the operator's: it may ask for solves in every repository the App is
	// installed on. Without a token the API refuses everything.
	Token ghapp.Secret
	// TokenSetting names where a token would be configured, for that refusal.
	TokenSetting string
	Vocabulary   handlers.Vocabulary
	// Operator is what the configuration lets a repository's own file say, and
	// ReadsConfig whether such files are read.
	Operator    repoconfig.Operator
	ReadsConfig bool
	// UsesRecords says whether plans use track records.
	UsesRecords bool
	WebURL      string // of GitHub, the host that repo_url may name
	PublicURL   string // of this server, for links; "" makes them relative
	Now         func() time.Time
	NewID       func() solve.ID
}

// Register adds the operations of the API, its description and the page made from it.
func (a API) Register(mux *http.ServeMux) error {
	api := humago.New(mux, describe())
	huma.Register(api, a.startOperation(), a.start)
	huma.Register(api, a.listOperation(), a.list)
	huma.Register(api, a.statusOperation(), a.status)
	huma.Register(api, a.cancelOperation(), a.cancel)
	huma.Register(api, a.eventsOperation(api), a.events)
	huma.Register(api, a.patchOperation(), a.patch)
	huma.Register(api, a.logOperation(), a.log)
	huma.Register(api, a.recordOperation(), a.record)
	huma.Register(api, a.bundleOperation(), a.bundle)
	huma.Register(api, a.backupOperation(), a.backup)
	huma.Register(api, a.validateOperation(), a.validate)
	huma.Register(api, a.trackOperation(), a.trackRecord)
	refuseOthers(mux, api.OpenAPI())
	description, err := newDescription(api)
	if err != nil {
		return err
	}
	docs, err := newDocs(api.OpenAPI(), a.link(""))
	if err != nil {
		return err
	}
	mux.Handle("GET /openapi.json", description)
	mux.Handle("GET /docs", docs)
	return nil
}

// MaxRequest is how many bytes the body of a request may have.
const MaxRequest = 64 << 10

// describe is the description of the API, without its operations.
func describe() huma.Config {
	cfg := huma.DefaultConfig("yudai", "1")
	cfg.Info.Description = "Ask for the solve of an issue, and follow it. Every call needs the API token as a Bearer token."
	// The description and the documentation are routes of ours; answers carry no links to schemas.
	cfg.OpenAPIPath, cfg.DocsPath, cfg.SchemasPath, cfg.CreateHooks = "", "", "", nil
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "The token of server.api_token_env or server.api_token_file."},
	}
	return cfg
}

// operation fills in what all operations have in common.
func (a API) operation(o huma.Operation) huma.Operation {
	o.Security = []map[string][]string{{"token": {}}}
	o.Errors = append(o.Errors,
		http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusInternalServerError)
	o.MaxBodyBytes = MaxRequest
	o.Middlewares = huma.Middlewares{a.authorize}
	return o
}

// Bears says whether an Authorization header carries the token. The comparison takes the same
// time whatever is wrong with it.
func Bears(header string, want ghapp.Secret) bool {
	scheme, token, _ := strings.Cut(header, " ")
	sent, is := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(want.Reveal()))
	return strings.EqualFold(scheme, "Bearer") && !want.Empty() && subtle.ConstantTimeCompare(sent[:], is[:]) == 1
}

// authorize lets a request pass that carries the token.
func (a API) authorize(ctx huma.Context, next func(huma.Context)) {
	if _, w := humago.Unwrap(ctx); a.Allows(w, ctx.Header("Authorization")) {
		next(ctx)
	}
}

// Allows says whether a request with this Authorization header may pass; if not, it has been answered.
func (a API) Allows(w http.ResponseWriter, header string) bool {
	switch {
	case a.Token.Empty():
		tell(w, http.StatusForbidden, "the API is off: no token is configured. Set "+a.TokenSetting+" and start again.")
	case !Bears(header, a.Token):
		w.Header().Set("WWW-Authenticate", `Bearer realm="yudai"`)
		tell(w, http.StatusUnauthorized, "missing or wrong API token: send it as \"Authorization: Bearer TOKEN\"")
	default:
		return true
	}
	return false
}

// link is the address of a path of this server.
func (a API) link(path string) string { return strings.TrimSuffix(a.PublicURL, "/") + path }

// refused makes the answer to a Refusal: the request cannot be done, and where to mend it.
// It is nil for any other error.
func refused(err error, location string, value any) error {
	var r Refusal
	if !errors.As(err, &r) {
		return nil
	}
	return huma.Error422UnprocessableEntity("the request cannot be done",
		&huma.ErrorDetail{Message: r.Error(), Location: location, Value: value})
}
