package server_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/server"
)

// TestHealthy: the published address leads to the server, a wrong answer is none, and nobody's is told.
func TestHealthy(t *testing.T) {
	t.Parallel()
	answer := http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
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
	cfg, none := server.Default(), func(string) string { return "" }
	cfg.Server.Address = "0.0.0.0:" + port
	if err := server.Healthy(t.Context(), cfg, none); err != nil {
		t.Error(err)
	}
	answer = http.StatusServiceUnavailable
	if err := server.Healthy(t.Context(), cfg, none); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("an ill server: %v", err)
	}
	srv.Close()
	if err := server.Healthy(t.Context(), cfg, none); err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "--url") {
		t.Errorf("no server: %v", err)
	}
}
