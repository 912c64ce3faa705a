package server_test

import (
	"net/http"
	"testing"

	"github.com/yudai-dev/yudai/server"
)

// TestGatewayIsMounted: everything below its path is the gateway's, and nothing is without one.
func TestGatewayIsMounted(t *testing.T) {
	t.Parallel()
	var asked []string
	with := newSite(t, func(a *server.API) {
		a.Gateway = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Method+" "+r.URL.RequestURI())
			w.WriteHeader(http.StatusTeapot)
		})
	})
	without := newSite(t, nil)
	for _, path := range []string{"/gateway/run/v1/messages?beta=true", "/gateway/run/v1/embeddings", "/gateway/run"} {
		if res := with.call(t, http.MethodPost, path, "{}", nil, nil); res.StatusCode != http.StatusTeapot || asked[len(asked)-1] != "POST "+path {
			t.Errorf("%s: %d, asked %q", path, res.StatusCode, asked)
		}
		if res := without.call(t, http.MethodPost, path, "{}", nil, nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s without a gateway: %d", path, res.StatusCode)
		}
	}
}
