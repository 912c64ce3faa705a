package server

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/web"
)

// Routes are the handlers of the server beside the REST API. All but Hook may be nil,
// which leaves the route out.
type Routes struct {
	Hook, Ready, Metrics http.Handler
	// Gateway has limits of its own: a stream may last.
	Gateway http.Handler
	// Pages are those for people.
	Pages *web.Pages
}

// NewHandler returns every route of the server. Each request gets the logger in its
// context, and each answer headers that let a browser do nothing with it but show it.
func NewHandler(log zerolog.Logger, r Routes, a api.API) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.Handle(githubapp.DefaultWebhookRoute, r.Hook) // POST /api/github/hook
	if err := a.Register(mux); err != nil {
		return nil, err
	}
	mux.Handle("/mcp", toolsHandler(a))
	mux.HandleFunc("GET /healthz", healthz)
	for pattern, h := range map[string]http.Handler{"GET /readyz": r.Ready, "GET /metrics": r.Metrics, gateway.PublicPath: r.Gateway} {
		if h != nil {
			mux.Handle(pattern, h)
		}
	}
	if r.Pages != nil {
		for _, pattern := range r.Pages.Patterns() {
			mux.Handle(pattern, r.Pages)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		mux.ServeHTTP(w, r.WithContext(log.WithContext(r.Context())))
	}), nil
}

// plainText is the type of the answers of the health checks.
const plainText = "text/plain; charset=utf-8"

// healthz says that the server answers requests.
func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", plainText)
	io.WriteString(w, "ok\n") //nolint:errcheck // nobody is left to tell
}

// routes wires the routes to the server's parts.
func (s *Server) routes(
	events []githubapp.EventHandler, secrets ghapp.Secrets, app *ghapp.App, getenv func(string) string,
) (http.Handler, error) {
	hook, err := NewIntake(secrets.WebhookSecret.Reveal(), events)
	if err != nil {
		return nil, err
	}
	token, err := s.cfg.Server.APIToken(getenv, os.ReadFile)
	if err != nil {
		return nil, err
	}
	if err := s.newPages(token.Reveal(), secrets.ClientSecret, getenv); err != nil {
		return nil, err
	}
	numbers := s.cfg.Server.publicMetrics(s.metrics.handler(s.log), token)
	all := Routes{Hook: s.metrics.intake(hook, events), Ready: s.ready, Metrics: numbers, Gateway: s.gateway, Pages: s.pages}
	return NewHandler(s.log, all, api.API{
		Solves: s.store, GitHub: api.AppReader{App: app}, Record: s.engine.Record, Bundle: s.bundles.Export,
		Backup: s.backup(), Log: s.pages.RunLog, Stopped: s.pages.Stopped(),
		Token: token, TokenSetting: s.cfg.Server.tokenSetting(),
		Vocabulary: s.cfg.openVocabulary(), Operator: s.cfg.operator(),
		ReadsConfig: s.cfg.Solver.Repository.Read, UsesRecords: s.cfg.Solver.Record,
		WebURL: s.cfg.GitHub.WebURL, PublicURL: s.cfg.Server.PublicURL,
		Now: time.Now, NewID: func() solve.ID { return solve.ID(xid.New().String()) },
	})
}

// tokenSetting names the settings that give the API its token.
func (l Listen) tokenSetting() string {
	if l.APITokenEnv == "" {
		return "server.api_token_env or server.api_token_file"
	}
	return fmt.Sprintf("the environment variable %s (server.api_token_env) or server.api_token_file", l.APITokenEnv)
}
