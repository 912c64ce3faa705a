package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/test/require"
)

// An agent of the operator's own, as in TestOwnAgent, in machines elsewhere: their rules
// open the public address and nothing else, and the program calls its model there.
func TestOwnAgentElsewhere(t *testing.T) {
	t.Parallel()
	require.Long(t)
	requireSandbox(t)
	const public = "yudai.example.org"
	for name, stub := range map[string]func(*testing.T, map[string]string) place{"e2b": e2bWith, "prime": primeWith} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := openFront(t)
			f.place = stub(t, map[string]string{public + ":80": f.address})
			w, s, ask := residents(t, "agents/quick", "tiny")
			f.place.settle(w)
			w.cfg.Server.PublicURL = "http://" + public
			srv, stop := w.serve()
			f.leads.Store(srv.Addr())
			ask()
			w.tinySolves(srv, s)
			call := public + gateway.PublicPath + " while open: " + public
			if diff := cmp.Diff(slices.Repeat([]string{call}, 4), f.came()); diff != "" {
				t.Errorf("what came to the public address:\n%s", diff)
			}
			f.place.clears(w)
			w.gone()
			stop()
			w.noToken("OPENAI_API_KEY=[run token]")
		})
	}
}

// front is what answers at the public address, and passes on to the server.
type front struct {
	address string
	leads   atomic.Value // the server's address
	place   place

	mu    sync.Mutex
	calls []string // host and beginning of the path, and what sandboxes may reach meanwhile
}

func openFront(t *testing.T) *front {
	t.Helper()
	f := &front{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: f.leads.Load().(string)})
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		f.mu.Lock()
		f.calls = append(f.calls, fmt.Sprintf("%s/%s/ while open: %s", r.Host, first, strings.Join(f.place.opened(), " ")))
		f.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	f.address = s.Listener.Addr().String()
	return f
}

// came returns the calls.
func (f *front) came() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// opened is what the rules of a stub's sandboxes open: at E2B of those that are there
// now, at Prime of all in which a command began.
func (p place) opened() (hosts []string) {
	if p.e2b != nil {
		for _, id := range p.e2b.Billed() {
			allow, deny, internet := p.e2b.Network(id)
			if hosts = append(hosts, allow...); internet || !slices.Equal(deny, []string{"0.0.0.0/0"}) {
				hosts = append(hosts, "everything")
			}
		}
		return hosts
	}
	for _, s := range p.prime.Starts() {
		if hosts = append(hosts, s.Allow...); s.Allow == nil || !s.Applied {
			hosts = append(hosts, "everything")
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
