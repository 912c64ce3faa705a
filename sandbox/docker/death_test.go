package docker_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/docker"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// loser stands between a driver and the engine. It loses the answer of one call that
// changes something there, and where the process dies at it, lets none pass after it.
type loser struct {
	calls, at atomic.Int64 // of calls that change something; at: 0 loses none
	dies      bool
	proxy     *httputil.ReverseProxy
}

// newLoser returns one and its address.
func newLoser(t *testing.T, dies bool) (*loser, string) {
	t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(engine.Host, "unix://"))
	}
	l := &loser{dies: dies, proxy: &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine" },
		Transport: &http.Transport{DialContext: dial},
	}}
	at, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: l}
	go func() { _ = s.Serve(at) }()
	t.Cleanup(func() { _ = s.Close() })
	return l, "unix://" + at.Addr().String()
}

func (l *loser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, at := l.calls.Load(), l.at.Load()
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.Contains(r.URL.Path, "/exec") {
		n = l.calls.Add(1)
		if n == at { // the engine does it, and nobody hears of it
			l.proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
	}
	if at > 0 && n >= at && l.dies {
		panic(http.ErrAbortHandler)
	}
	l.proxy.ServeHTTP(w, r)
}

// life is what a prepared base goes through, all of it.
func life(ctx context.Context, d *docker.Driver) error {
	sb, err := d.Open(ctx, sandbox.Spec{Name: "first"})
	if err != nil {
		return err
	}
	base, err := d.Freeze(ctx, sb)
	if err != nil {
		return errors.Join(err, sb.Close(ctx))
	}
	fork, err := d.Open(ctx, sandbox.Spec{Name: "fork", From: base})
	if err != nil {
		return errors.Join(err, d.Thaw(ctx, base))
	}
	return errors.Join(fork.Close(ctx), d.Thaw(ctx, base))
}

// TestDeathAtEveryCall: wherever an answer is lost, or the process ends, the next
// process's Sweep leaves nothing on the engine, and what lives goes on.
func TestDeathAtEveryCall(t *testing.T) {
	t.Parallel()
	c := config(t)
	for what, dies := range map[string]bool{"the process dies": true, "an answer is lost": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l, host := newLoser(t, dies)
			c, book := c, newBook(t)
			c.Host = host
			d := driver(t, c, book)
			for range 2 { // the first time the engine is asked what it can do, too
				l.calls.Store(0)
				if err := life(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			all := l.calls.Load()
			if all < 8 {
				t.Fatalf("only %d calls", all)
			}
			for at := int64(1); at <= all; at++ {
				l.calls.Store(0)
				l.at.Store(at)
				err := life(t.Context(), d)
				l.at.Store(0)
				if dies && err == nil {
					t.Errorf("dead at call %d of %d, and nobody noticed", at, all)
				}
				nothingLeft(t, c, book, at)
			}
			if err := life(t.Context(), d); err != nil {
				t.Errorf("after it all: %v", err)
			}
		})
	}
}

// nothingLeft sweeps as the next process.
func nothingLeft(t *testing.T, c docker.Config, book *records.Book, at int64) {
	t.Helper()
	c.Host = engine.Host
	next, err := docker.New(c, book, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.Sweep(t.Context(), func(sandbox.Info) bool { return false }); err != nil {
		t.Errorf("sweep after call %d: %v", at, err)
	}
	if n := left(t.Context(), t, engine, book.Deployment()); n > 0 {
		t.Errorf("call %d: %d things are left", at, n)
	}
}

// TestProbeLeavesNothing is the same for the container that only shows what the
// engine can do.
func TestProbeLeavesNothing(t *testing.T) {
	t.Parallel()
	c, book := config(t), newBook(t)
	for what, dies := range map[string]bool{"dies": true, "lost": false} {
		l, host := newLoser(t, dies)
		c.Host = host
		for at := int64(1); at <= 4; at++ {
			l.calls.Store(0)
			l.at.Store(at)
			d, err := docker.New(c, book, zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			sb, err := d.Open(t.Context(), sandbox.Spec{Name: "probed"})
			if dies && err == nil {
				t.Errorf("dead at call %d, and nobody noticed", at)
			}
			l.at.Store(0)
			if err == nil {
				err = sb.Close(t.Context())
			}
			if n := left(t.Context(), t, engine, book.Deployment()); n > 0 && !dies {
				t.Errorf("%s at call %d: %d things are left, %v", what, at, n, err)
			}
			nothingLeft(t, c, book, at)
		}
	}
}
