package server_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/server/api"
)

// handle answers one request with all routes, of which some are given.
func handle(t *testing.T, r server.Routes, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	r.Hook = http.NotFoundHandler()
	h, err := server.NewHandler(zerolog.Nop(), r, api.API{})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(method, path, http.NoBody))
	return answer
}

// TestGatewayIsMounted: everything below its path is the gateway's, and nothing is without one.
func TestGatewayIsMounted(t *testing.T) {
	t.Parallel()
	asked := ""
	with := server.Routes{Gateway: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.RequestURI()
		w.WriteHeader(http.StatusTeapot)
	})}
	for _, path := range []string{"/gateway/run/v1/messages?beta=true", "/gateway/run/v1/embeddings", "/gateway/run"} {
		if answer := handle(t, with, http.MethodPost, path); answer.Code != http.StatusTeapot || asked != "POST "+path {
			t.Errorf("%s: %d, asked %q", path, answer.Code, asked)
		}
		if answer := handle(t, server.Routes{}, http.MethodPost, path); answer.Code != http.StatusNotFound {
			t.Errorf("%s without a gateway: %d", path, answer.Code)
		}
	}
}

// TestRoutesCarrySafeHeaders: the pages of the API have a policy of their own, all others
// let a browser do nothing.
func TestRoutesCarrySafeHeaders(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/healthz", "/docs", "/openapi.json"} {
		answer := handle(t, server.Routes{}, http.MethodGet, path)
		policy := answer.Header().Get("Content-Security-Policy")
		if answer.Code != http.StatusOK || answer.Header().Get("X-Content-Type-Options") != "nosniff" || policy == "" {
			t.Errorf("%s: %d %v", path, answer.Code, answer.Header())
		}
	}
}

// listener is where a server listens, and whether only this machine reaches it.
type listener struct {
	address, public string
	onlyHere        bool
}

func listeners() []listener {
	return []listener{
		{"127.0.0.1:8080", "", true}, {"127.8.8.8:1", "", true}, {"[::1]:8080", "", true}, {"localhost:8080", "", true},
		{"127.0.0.1:8080", "https://yudai.example.org", false}, {"localhost:8080", "https://yudai.example.org", false},
		{":8080", "", false}, {"0.0.0.0:8080", "", false}, {"[::]:8080", "", false}, {"192.0.2.7:8080", "", false},
		{"yudai.example.org:8080", "", false}, {"localhost.example.org:8080", "", false}, {"127.0.0.1", "", false},
	}
}

// TestOnlyHere: links that need no login, and metrics that need no token, are for a server that only this machine reaches.
func TestOnlyHere(t *testing.T) {
	t.Parallel()
	for _, c := range listeners() {
		if got := server.OnlyHere(c.address, c.public); got != c.onlyHere {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
