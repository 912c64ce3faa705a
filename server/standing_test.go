package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

// TestUnknownPricesOfAServer: what a model without a price costs is unknown to who asks a server, too.
func TestUnknownPricesOfAServer(t *testing.T) {
	t.Parallel()
	var st server.Standing
	if err := json.Unmarshal([]byte(`{"unpriced_models": ["free"], "experiments": [
		{"run": 1, "model": "free", "tokens": 9}, {"run": 2, "model": "free"}, {"run": 3, "model": "dear", "tokens": 9, "cost_usd": 0.5}]}`), &st.Told); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"unknown", "$0", "$0.5000"} {
		if got := report.RunPageOf(st.View(), i+1).Cost; got != want {
			t.Errorf("run %d: %s, want %s", i+1, got, want)
		}
	}
	if got := report.PageOf(st.View()).Cost; got != "$0.5000 or more" {
		t.Errorf("all: %s", got)
	}
}

// TestSolvesTwice: who asks twice gets all twice. For an ID that is too long nothing is asked.
func TestSolvesTwice(t *testing.T) {
	t.Parallel()
	asked := atomic.Int64{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		switch query := r.URL.Query(); {
		case query.Get("cursor") == "b":
			fmt.Fprint(w, `{"solves": [{"solve_id": "a"}]}`)
		case query.Has("cursor") || query.Get("limit") != "1":
			http.Error(w, "a wrong query: "+r.URL.RawQuery, http.StatusUnprocessableEntity)
		default:
			fmt.Fprint(w, `{"solves": [{"solve_id": "b"}], "next": "b"}`)
		}
	}))
	defer srv.Close()
	c, err := server.NewClient(server.Default(), srv.URL, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	all := c.Solves(t.Context(), url.Values{"limit": {"1"}})
	for range 2 {
		for s, err := range all {
			got += fmt.Sprint(s.SolveID, err, " ")
		}
	}
	if want := strings.Repeat("b<nil> a<nil> ", 2); got != want || asked.Load() != 4 {
		t.Errorf("%d requests: %s", asked.Load(), got)
	}
	if _, err := c.Find(t.Context(), strings.Repeat("0", 21)); !errors.Is(err, solve.ErrNotFound) || asked.Load() != 4 {
		t.Errorf("%d requests: %v", asked.Load(), err)
	}
}

// TestNobodyListens: a server that ends resets who just came; that is no answer either. A reset in the middle of one is another thing.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		op   string
		err  error
		want bool
	}{
		{"dial", syscall.ECONNREFUSED, true},
		{"dial", syscall.ECONNRESET, true},
		{"dial", syscall.EHOSTUNREACH, false},
		{"read", syscall.ECONNRESET, false},
	} {
		err := fmt.Errorf("%w at there (%w)", server.ErrAway, &net.OpError{Op: tt.op, Err: os.NewSyscallError("connect", tt.err)})
		if got := server.NobodyListens(err); got != tt.want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
