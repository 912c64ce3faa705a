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

// TestLinkOnlyWhereNobodyElseIs: the link that needs no login is for a server that only this machine reaches.
func TestLinkOnlyWhereNobodyElseIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address, public string
		want            bool
	}{
		{"127.0.0.1:8080", "", true},
		{"[::1]:8080", "", true},
		{"127.0.0.1:8080", "https://yudai.example.org", false},
		{"0.0.0.0:8080", "", false},
		{"[::]:8080", "", false},
		{"192.0.2.7:8080", "", false},
	} {
		if got := server.OnlyHere(c.address, c.public); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
