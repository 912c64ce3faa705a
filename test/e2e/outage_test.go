package e2e_test

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// outage is a way to GitHub that can be cut.
type outage struct {
	next http.RoundTripper
	cut  atomic.Bool
}

// RoundTrip implements [http.RoundTripper].
func (o *outage) RoundTrip(r *http.Request) (*http.Response, error) {
	if o.cut.Load() {
		return nil, errors.New("no route to host")
	}
	return o.next.RoundTrip(r)
}

// TestServeWithoutGitHub: while GitHub cannot be reached, a start listens, and deliveries are
// stored and answered as always; the work begins when GitHub is back. So at the very first
// start, and at one that was told earlier who the App is.
func TestServeWithoutGitHub(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "02_command")
	w := newWorld(t, a)
	way := &outage{next: cmp.Or(w.github, http.DefaultTransport)}
	w.github = way
	for _, start := range []string{"the very first", "a later"} {
		way.cut.Store(true)
		began := time.Now()
		srv, stop := w.serve()
		if d := time.Since(began); d > 30*time.Second {
			t.Errorf("%s start took %s", start, d)
		}
		w.openIssue(a)
		w.must(w.hub.Label(w.repo.FullName(), w.issue, user, label))
		w.until(srv, 30*time.Second, func(v report.View) bool { return v.Solve.State == solve.StateQueued })
		w.poll(30*time.Second, func() bool {
			for _, d := range w.hub.Deliveries(w.app) {
				if d.Event == "issues" && (!d.Done || d.Status >= http.StatusMultipleChoices) {
					return false
				}
			}
			return true
		})
		way.cut.Store(false)
		w.final(srv, 3*time.Minute)
		stop()
	}
	if n := strings.Count(w.log.String(), "github does not answer yet"); n != 2 {
		t.Errorf("%d starts found no GitHub", n)
	}
}
