package e2bsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// problem is an answer that is an error.
type problem struct {
	status  int
	message string
	slug    string
}

// Error tells it to people.
func (p *problem) Error() string { return fmt.Sprintf("%d: %s", p.status, p.message) }

func refuse(status int, format string, args ...any) *problem {
	return &problem{status: status, message: fmt.Sprintf(format, args...)}
}

func gone(id string) *problem { return refuse(http.StatusNotFound, "sandbox %q not found", id) }

// errorBody is the body of every error of the control plane.
type errorBody struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Slug    string `json:"error_code,omitempty"`
}

func fail(w http.ResponseWriter, status int, message string) { failSlug(w, status, message, "") }

func failSlug(w http.ResponseWriter, status int, message, slug string) {
	answer(w, status, errorBody{status, message, slug})
}

// answer writes JSON; a nil body is none.
func answer(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// route is one path of the control plane. Its do returns the status and the body.
type route struct {
	pattern string
	call    Call
	do      func(w http.ResponseWriter, r *http.Request) (int, any, error)
}

func (s *Server) routes() []route {
	all := []route{
		{"POST /sandboxes", CallCreate, s.createFirst},
		{"GET /sandboxes", CallList, s.listFirst},
		{"GET /sandboxes/metrics", CallMetrics, s.metricsOfMany},
		{"GET /sandboxes/{id}", CallGet, s.get},
		{"DELETE /sandboxes/{id}", CallKill, s.kill},
		{"POST /sandboxes/{id}/timeout", CallTimeout, s.setTimeout},
		{"POST /sandboxes/{id}/refreshes", CallRefresh, s.refresh},
		{"POST /sandboxes/{id}/connect", CallConnect, s.connect},
		{"POST /v2/sandboxes/{id}/connect", CallConnect, s.connect},
		{"POST /sandboxes/{id}/pause", CallPause, s.pause},
		{"POST /sandboxes/{id}/resume", CallResume, s.resume},
		{"PUT /sandboxes/{id}/network", CallNetwork, s.setNetwork},
		{"GET /v2/sandboxes/{id}/logs", CallLogs, s.logs},
		{"GET /sandboxes/{id}/metrics", CallMetrics, s.metrics},
		{"GET /snapshots", CallStored, s.listSnapshots},
		{"POST /v3/templates", CallTemplate, s.newBuild},
		{"GET /templates/{id}/files/{hash}", CallFile, s.uploadLink},
		{"POST /v2/templates/{id}/builds/{build}", CallBuild, s.startBuild},
		{"GET /templates/{id}/builds/{build}/status", CallStatus, s.buildStatus},
		{"GET /v2/templates", CallTemplates, s.listTemplates},
		{"GET /templates", CallTemplates, s.listTemplates},
		{"GET /templates/{id}", CallTemplates, s.getTemplate},
		{"DELETE /templates/{id}", CallDelete, s.deleteTemplate},
		{"GET /templates/{id}/{of}", CallAlias, s.aliasOrTags},
		{"POST /templates/tags", CallTags, s.addTags},
		{"DELETE /templates/tags", CallTags, s.removeTags},
	}
	if !s.o.NoV2 {
		all = append(all, route{"POST /v2/sandboxes", CallCreate, s.createSecond}, route{"GET /v2/sandboxes", CallList, s.listSecond})
	}
	if !s.o.NoFork {
		all = append(all, route{"POST /sandboxes/{id}/fork", CallFork, s.fork}, route{"POST /sandboxes/{id}/snapshots", CallCapture, s.snapshot})
	}
	return all
}

// apiHandler serves the control plane.
func (s *Server) apiHandler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) {
			box := ""
			if strings.Contains(r.pattern, "/sandboxes/{id}") {
				box = req.PathValue("id")
			}
			s.disturbed(r.call, box, s.guarded(r.do))(w, req)
		})
	}
	mux.HandleFunc("PUT /upload/{ticket}", s.disturbed(CallUpload, "", s.upload))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusNoContent, nil) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fail(w, http.StatusNotFound, "no such route") })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sandboxOf(r) != "" { // one address may stand for both
			s.edge.handler.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// guarded checks the key and writes what do returns.
func (s *Server) guarded(do func(http.ResponseWriter, *http.Request) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		known := s.keys[r.Header.Get("X-API-Key")]
		s.mu.Unlock()
		if !known {
			fail(w, http.StatusUnauthorized, "Invalid API key, please visit the dashboard to get your API key")
			return
		}
		status, body, err := do(w, r)
		var p *problem
		switch {
		case errors.As(err, &p):
			failSlug(w, p.status, p.message, p.slug)
		case err != nil:
			failSlug(w, http.StatusInternalServerError, err.Error(), "internal_server_error")
		default:
			answer(w, status, body)
		}
	}
}

// read decodes a JSON body; an empty one leaves out as it is.
func read(r *http.Request, out any) error {
	data, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 8<<20))
	if err != nil || len(data) == 0 {
		return err
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return refuse(http.StatusBadRequest, "request body has an error: header Content-Type has unexpected value %q", r.Header.Get("Content-Type"))
	}
	if err := json.Unmarshal(data, out); err != nil {
		return refuse(http.StatusBadRequest, "request body has an error: %v", err)
	}
	return nil
}
