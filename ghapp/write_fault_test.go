package ghapp_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// everyWrite are the routes of the writes of a solve, as faults name them.
var everyWrite = []struct{ method, path string }{
	{"POST", `/app/installations/\d+/access_tokens$`},
	{"POST", `/issues/\d+/reactions$`},
	{"POST", `/issues/\d+/comments$`},
	{"PATCH", `/issues/comments/\d+$`},
	{"POST", `/git/commits$`},
	{"POST", `/git/trees$`},
	{"POST", `/git/blobs$`},
	{"POST", `/git/refs$`},
	{"PATCH", `/git/refs/`},
	{"POST", `/check-runs$`},
	{"PATCH", `/check-runs/\d+$`},
	{"POST", `/pulls$`},
}

// TestEveryFaultOfEveryWriteLeavesOneOfEach makes each kind of write of a solve
// go wrong, the first time and some later times, in every way GitHub knows.
func TestEveryFaultOfEveryWriteLeavesOneOfEach(t *testing.T) {
	t.Parallel()
	for _, fault := range []githubsim.Fault{
		{Kind: githubsim.FaultServerError},
		{Kind: githubsim.FaultServerError, Status: 500, Count: 3},
		{Kind: githubsim.FaultLostAnswer},
		{Kind: githubsim.FaultLostAnswer, Status: 504},
		{Kind: githubsim.FaultCutBefore},
		{Kind: githubsim.FaultCutAfter},
		{Kind: githubsim.FaultHangBefore},
		{Kind: githubsim.FaultHangAfter},
		{Kind: githubsim.FaultPrimary, Retry: 20 * time.Minute},
		{Kind: githubsim.FaultPrimary429},
		{Kind: githubsim.FaultSecondary},
		{Kind: githubsim.FaultSecondaryPlain, Count: 2},
		{Kind: githubsim.FaultSecondary429, Retry: 90 * time.Second},
		{Kind: githubsim.FaultUnauthorized},
		{Kind: githubsim.FaultUnauthorized, Count: 3},
		{Kind: githubsim.FaultNotFound},
	} {
		name := string(fault.Kind)
		if fault.Count > 1 {
			name += " often"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{Tokens: githubsim.TokenAlternate}, func(t *testing.T, w *world) {
				w.hub.SetLag(2 * time.Second)
				var injected, again []*githubsim.Injection
				for _, route := range everyWrite {
					if fault.Kind == githubsim.FaultNotFound && strings.Contains(route.path, "access_tokens") {
						continue // that is an installation which is gone
					}
					f := fault
					f.Method, f.Path = route.method, route.path
					injected = append(injected, w.hub.Inject(f))
					f.Nth = 5 // and again later on
					again = append(again, w.hub.Inject(f))
				}
				stop := w.write("node-1")
				s := w.solveAll(id1, w.settle)
				w.settle()
				stop()
				pass(time.Minute) // what came late is listed now
				for _, in := range slices.Concat(injected, again) {
					in.Remove()
				}
				for i, in := range injected {
					if in.Hits() == 0 {
						t.Errorf("fault %d was not met", i)
					}
				}
				w.checkOnce(s)
			})
		})
	}
}

// TestFailedLookUpDoesNotForgetTheUnknownOutcome loses the answer of every
// creation, and makes the look-ups that follow fail as well.
func TestFailedLookUpDoesNotForgetTheUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, kind := range []githubsim.FaultKind{githubsim.FaultServerError, githubsim.FaultCutBefore, githubsim.FaultSecondary429} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				var injected []*githubsim.Injection
				for _, path := range []string{"/issues/1/comments$", "/check-runs$", "/pulls$", "/git/refs$"} {
					injected = append(injected, w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultLostAnswer, Method: "POST", Path: path}))
				}
				for _, path := range []string{"/issues/1/comments$", "/check-runs$", "/pulls$", "/git/ref/"} {
					injected = append(injected, w.hub.Inject(githubsim.Fault{Kind: kind, Method: "GET", Path: path, Count: 3}))
				}
				injected = append(injected, w.hub.Inject(githubsim.Fault{Kind: kind, Method: "PATCH", Path: "/(comments|check-runs)/", Count: 3}))
				stop := w.write("node-1")
				s := w.solveAll(id1, func() { pass(7 * time.Second) })
				w.settle()
				stop()
				for i, in := range injected {
					if in.Hits() == 0 {
						t.Errorf("fault %d was not met", i)
					}
					in.Remove()
				}
				w.checkOnce(s)
			})
		})
	}
}

// hollow drops the content of the first answer to each kind of creation.
type hollow struct {
	next http.RoundTripper
	seen map[string]bool
}

func (h hollow) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := h.next.RoundTrip(req)
	kind := req.URL.Path[strings.LastIndex(req.URL.Path, "/"):]
	if err != nil || req.Method != "POST" || kind == "/access_tokens" || h.seen[kind] {
		return resp, err
	}
	h.seen[kind] = true
	return respond(req, resp.StatusCode, ""), resp.Body.Close()
}

func TestAnswerWithoutContentIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.app = w.newApp(hollow{w.traffic, map[string]bool{}})
		stop := w.write("node-1")
		s := w.solveAll(id1, w.settle)
		w.settle()
		stop()
		w.checkOnce(s)
		for _, r := range w.traffic.sent {
			if strings.HasSuffix(r.path, "/0") {
				t.Errorf("an id that was never answered is used: %s %s", r.method, r.path)
			}
		}
	})
}

// TestKilledWriterIsResumedWithoutADouble ends a writer at each of its calls,
// right after SentAt was stored: before GitHub was asked, or after it did as
// asked and before that was stored. Another writer goes on, and the first wakes
// up much later.
func TestKilledWriterIsResumedWithoutADouble(t *testing.T) {
	t.Parallel()
	for name, done := range map[string]bool{"before the effect": false, "after the effect": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				w.hub.SetLag(5 * time.Second)
				over := w.killing(done)
				s := w.solveAll(id1, func() { pass(7 * time.Second) })
				w.settle()
				if n := over(); n < 8 {
					t.Errorf("only %d writers were killed", n)
				}
				w.checkOnce(s)
			})
		})
	}
}

// killer ends the present writer once per effect.
type killer struct {
	killed func()
	wake   chan struct{} // closed when the dead are to wake up

	mu   sync.Mutex
	seen map[string]bool
}

func (k *killer) first(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen[key] {
		return false
	}
	k.seen[key] = true
	return true
}

func (k *killer) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.seen)
}

func (k *killer) sending(e solve.Effect) {
	if k.first(e.Key) {
		k.killed()
		<-k.wake
	}
}

func (k *killer) finishing(e solve.Effect) error {
	if k.first(e.Key) {
		k.killed()
		return errors.New("killed")
	}
	return nil
}

// TestLimitsAreNoFailures: a write that GitHub puts off for hours is made as soon
// as it may be; the one real failure in between neither ends it nor makes it wait.
func TestLimitsAreNoFailures(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		const limits = 80
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultSecondary, Method: "POST", Path: "/comments$", Count: limits, Retry: 10 * time.Minute})
		w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultCutBefore, Method: "POST", Path: "/comments$", Nth: limits + 1})
		w.store.want(w.reply("ask-1", "hello"))
		began := time.Now()
		w.runUntilSettled()
		e := w.store.given("ask-1", solve.EffectReply, 0)
		if d := time.Since(began) - limits*10*time.Minute; e.State != solve.EffectApplied || d < 0 || d > 5*time.Minute {
			t.Errorf("effect is %s, %s after the last limit: %s", e.State, d, e.Error)
		}
	})
}
