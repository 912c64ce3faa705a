package gateway

import (
	"net/http"
	"os"
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/logkey"
)

// route is what a path asks for.
type route struct {
	api           string
	models, count bool
}

// routes are the paths that are served, by method and path.
func routes() map[string]route {
	return map[string]route{
		"POST /v1/chat/completions":      {api: agent.APIChat},
		"POST /v1/responses":             {api: agent.APIResponses},
		"POST /v1/messages":              {api: agent.APIMessages},
		"POST /v1/messages/count_tokens": {api: agent.APIMessages, count: true},
		"GET /v1/models":                 {models: true},
	}
}

// family is the API in whose shape an answer is given that is none of a model's.
func family(r *http.Request, path string) string {
	if strings.HasPrefix(path, "/v1/messages") || r.Header.Get("Anthropic-Version") != "" {
		return agent.APIMessages
	}
	return agent.APIChat
}

// handler serves one entrance. split finds the run in a path.
func (g *Gateway) handler(where agent.GatewayAccess, split func(path string) (run, rest string)) http.Handler {
	table := routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		run, path := split(r.URL.Path)
		to, known := table[r.Method+" "+path]
		shape := family(r, path)
		switch {
		case r.Method == http.MethodHead && path == "/":
			return
		case !known:
			gatewayError(http.StatusNotFound, "not_found", "yudai's gateway has no "+r.Method+" "+short(path)+".").write(w, shape)
			return
		}
		if to.api != "" {
			shape = to.api
		}
		s, no := g.authorize(where, run, r)
		switch {
		case no != nil:
			no.write(w, shape)
		case to.models:
			s.listModels(w, shape)
		default:
			(&call{g: g, session: s, api: to.api, count: to.count, w: w, r: r}).serve()
		}
	})
}

// authorize finds the session that a request may go through. Whatever is wrong with a token, who
// has none learns nothing else.
func (g *Gateway) authorize(where agent.GatewayAccess, run string, r *http.Request) (*session, *clientError) {
	no := gatewayError(http.StatusUnauthorized, "invalid_run_token", textToken)
	if checkRun(run) != nil {
		return nil, &no
	}
	tokens := tokensOf(r.Header)
	if !hasToken(tokens, g.token(run)) {
		g.logWrongToken(run, tokens)
		return nil, &no
	}
	g.mu.Lock()
	s := g.sessions[run]
	g.mu.Unlock()
	if s == nil {
		why := error(agent.ErrRunOver)
		if _, err := os.Stat(g.openMarker(run)); err == nil {
			why = errNotOpen
		}
		f := callDenied(why)
		return nil, &f
	}
	if s.where != where {
		return nil, &no
	}
	if err := s.closedBy(); err != nil {
		f := callDenied(err)
		return nil, &f
	}
	return s, nil
}

// logWrongToken logs a request with a wrong token. That of another run is worth knowing.
func (g *Gateway) logWrongToken(run string, tokens []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for other := range g.sessions {
		if hasToken(tokens, g.token(other)) {
			g.log.Warn().Str(logkey.Run, run).Str(logkey.Event, "token of run "+other).Msg("a run used another run's token")
			return
		}
	}
	g.log.Debug().Str(logkey.Run, run).Msg("gateway refused a token that is none of this run")
}

// listModels answers that there is one model.
func (s *session) listModels(w http.ResponseWriter, shape string) {
	name := s.x.Model
	var v any = map[string]any{"object": "list", "data": []any{
		map[string]any{"id": name, "object": "model", "created": 0, "owned_by": "yudai"},
	}}
	if anthropicStyle(shape) {
		v = map[string]any{"first_id": name, "last_id": name, "has_more": false, "data": []any{
			map[string]any{"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"},
		}}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(v))
}
