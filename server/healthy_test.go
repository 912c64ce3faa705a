package server_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/server"
)

// TestHealthy: the published address leads to the server, a wrong answer is none, and nobody's is told. The token is neither read nor sent.
func TestHealthy(t *testing.T) {
	t.Parallel()
	answer := http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" || r.Header.Get("Authorization") != "" {
			answer = http.StatusNotFound
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(answer)
	}))
	defer srv.Close()
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	cfg := server.Default()
	cfg.Server.APITokenFile = filepath.Join(t.TempDir(), "unreadable")
	cfg.Server.Address = "0.0.0.0:" + port
	if err := server.Healthy(t.Context(), cfg); err != nil {
		t.Error(err)
	}
	answer = http.StatusServiceUnavailable
	if err := server.Healthy(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("an ill server: %v", err)
	}
	srv.Close()
	if err := server.Healthy(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "--url") {
		t.Errorf("no server: %v", err)
	}
}
