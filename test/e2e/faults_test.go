package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/checker"
	"github.com/yudai-dev/yudai/test/require"
)

// faultRow is one way for GitHub to go wrong during a solve. Whatever it is, the
// checker finds nothing in the end.
type faultRow struct {
	name   string
	faults []githubsim.Fault
	// before runs before the trigger, after while the solve goes on.
	before func(*world)
	after  func(*world, *server.Server)
	want   solve.State // solved if empty
	slow   bool        // the model takes two seconds, so that something can happen meanwhile
	down   bool        // yudai is started after the trigger
	single bool        // one extra comment or check run may appear, and goes again
}

// TestFaults plays every fault of GitHub's against a whole solve, over sockets.
func TestFaults(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	for i, r := range slices.Concat(limitRows(), brokenRows(), listRows(), tokenRows(), deliveryRows()) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if i%8 != 0 {
				require.Long(t)
			}
			playFault(t, r)
		})
	}
}

func playFault(t *testing.T, r faultRow) {
	w, a := r.world(t)
	var hit []*githubsim.Injection
	for _, f := range r.faults {
		hit = append(hit, w.hub.Inject(f))
	}
	w.openIssue(a)
	var srv *server.Server
	var stop func()
	if !r.down {
		srv, stop = w.serve()
	}
	if r.before != nil {
		r.before(w)
	}
	w.must(w.hub.Label(w.repo.FullName(), w.issue, user, "yudai:solve"))
	if r.down {
		srv, stop = w.serve()
	}
	if r.after != nil {
		r.after(w, srv)
	}
	v := w.final(srv, 6*time.Minute)
	if want := cmp.Or(r.want, solve.StateSolved); v.Solve.State != want {
		t.Errorf("the solve is %s (%s), want %s; runs: %s", v.Solve.State, v.Solve.Reason, want, states(v))
	} else if n := len(w.pulls()); want == solve.StateSolved && n != 1 {
		t.Errorf("%d pull requests", n)
	}
	for i, in := range hit {
		if in.Hits() == 0 && r.faults[i].Method != "PATCH" { // progress may be merged
			t.Errorf("nothing met the fault %+v", r.faults[i])
		}
	}
	if r.single {
		w.extraGoes()
	}
	w.judge(stop)
}

// world is the shell sample, with one model that gets it right.
func (r faultRow) world(t *testing.T) (*world, *txtar.Archive) {
	name, model := "02_command", "careful"
	if r.slow {
		name, model = "crash/slow", "slow"
	}
	a, _ := load(t, name)
	w := newWorld(t, a)
	w.github = http.DefaultTransport // faults need not fit GitHub's description
	w.cfg.Solver.Defaults.Models = []string{model}
	limits := &w.cfg.GitHub.Write // of the defaults, all cut alike
	limits.Timeout, limits.Lease, limits.ListLag = 1500*time.Millisecond, 4500*time.Millisecond, 4500*time.Millisecond
	w.cfg.GitHub.Recovery.ScanEvery = 0 // or the walk would meet faults that are meant for the solve
	w.cfg.Solver.SweepEvery, w.cfg.Solver.LeaseTime = time.Second, 20*time.Second
	return w, a
}

// hidden hides what is made from lists until something was made again, and some
// time after that; from the trigger, or from the pull request on.
func hidden(late bool) func(*world, *server.Server) {
	return func(w *world, _ *server.Server) {
		w.t.Helper()
		w.poll(5*time.Minute, func() bool { return !late || w.hub.Requests("POST", "/pulls") > 0 })
		w.hub.SetLag(time.Hour)
		w.poll(3*time.Minute, func() bool { return w.extras() > 0 })
		seen := time.Now()
		w.poll(time.Minute, func() bool { return time.Since(seen) > w.cfg.GitHub.Write.ListLag/3 })
		w.hub.SetLag(0)
	}
}

// extraGoes waits until what was made twice is there once.
func (w *world) extraGoes() {
	w.t.Helper()
	w.poll(time.Minute, func() bool {
		gone := w.hub.Requests("DELETE", "/issues/comments/")
		for _, r := range w.hub.History() {
			if r.Method == "PATCH" && strings.Contains(string(r.Body), `"superseded"`) {
				gone++
			}
		}
		return gone == w.extras()
	})
}

// extras is how many comments and check runs were made again.
func (w *world) extras() int {
	w.t.Helper()
	extra := 0
	for key, n := range w.creations() {
		if n > 2 {
			w.t.Errorf("%s was made %d times", key, n)
		}
		extra += n - 1
	}
	return extra
}

// creations counts the creations of what has the same marker, or name, commit
// and external id.
func (w *world) creations() map[string]int {
	out := map[string]int{}
	for _, r := range w.hub.History() {
		if r.Method != "POST" || r.Status != http.StatusCreated {
			continue
		}
		var q struct {
			Body, Name string
			HeadSHA    string `json:"head_sha"`
			ExternalID string `json:"external_id"`
		}
		switch kind, _, _ := strings.Cut(r.Target, " "); kind {
		case "comment", "check":
			w.must(json.Unmarshal(r.Body, &q))
			id, sort, _ := solve.FindMarker(q.Body)
			out[strings.Join([]string{kind, id, sort, q.Name, q.HeadSHA, q.ExternalID}, " ")]++
		}
	}
	return out
}

// judge stops yudai and lets the checker look at what is left.
func (w *world) judge(stop func()) {
	w.t.Helper()
	w.poll(20*time.Second, func() bool { return len(w.leftovers()) == 0 })
	stop()
	report, err := checker.Check(w.t.Context(), checker.Evidence{
		History: filepath.Join(w.dir, "history.jsonl"), Store: w.cfg.Store.Path, Sandboxes: w.cfg.Sandbox.Local.Dir,
	})
	w.must(err)
	if !report.OK() {
		w.t.Error(report)
	}
}

// request is a method and the end of its path, one of those a solve makes.
type endpoint struct{ method, path string }

func (e endpoint) fault(kind githubsim.FaultKind) githubsim.Fault {
	return githubsim.Fault{Kind: kind, Method: e.method, Path: e.path, Retry: time.Second}
}

// writes are all that change something that people see, or make a git object.
func writes() []endpoint {
	return []endpoint{
		{"POST", `/issues/\d+/reactions$`}, {"POST", `/git/commits$`}, {"POST", `/git/refs$`}, {"POST", `/issues/\d+/comments$`},
		{"POST", `/check-runs$`}, {"PATCH", `/check-runs/\d+$`}, {"PATCH", `/issues/comments/\d+$`}, {"POST", `/git/trees$`},
		{"PATCH", `/git/refs/`}, {"POST", `/pulls$`},
	}
}

// reads are all that a solve asks.
func reads() []endpoint {
	return []endpoint{
		{"GET", `/permission$`}, {"GET", `/issues/\d+$`}, {"GET", `/git/ref/`}, {"GET", `/git/commits/`},
		{"GET", `/issues/\d+/comments$`}, {"GET", `/check-runs$`}, {"GET", `/pulls$`},
	}
}

// tokens are the requests for a token: those of the REST clients, and the clone's.
func tokens() []endpoint { return []endpoint{{"POST", `/access_tokens$`}} }

// gits are the two requests of a fetch.
func gits() []endpoint { return []endpoint{{"GET", `/info/refs$`}, {"POST", `/git-upload-pack$`}} }

// on makes one fault of the kind for each endpoint, at its first request.
func on(kind githubsim.FaultKind, where ...[]endpoint) []githubsim.Fault {
	var out []githubsim.Fault
	for _, e := range slices.Concat(where...) {
		out = append(out, e.fault(kind))
	}
	return out
}

// limitRows are the forms of a rate limit, once on every request that a solve
// makes; and those without a time, after which a minute is waited.
func limitRows() []faultRow {
	var out []faultRow
	for _, kind := range []githubsim.FaultKind{
		githubsim.FaultSecondary, githubsim.FaultSecondaryPlain, githubsim.FaultAbuse, githubsim.FaultSecondary429,
	} {
		out = append(out, faultRow{
			name: fmt.Sprintf("limit/%s without a time", kind), faults: []githubsim.Fault{{Kind: kind, Method: "POST", Path: `/pulls$`}},
		})
	}
	for _, kind := range []githubsim.FaultKind{
		githubsim.FaultPrimary, githubsim.FaultPrimary429, githubsim.FaultSecondary, githubsim.FaultSecondaryPlain,
		githubsim.FaultAbuse, githubsim.FaultSecondary429,
	} {
		out = append(out, faultRow{
			name: fmt.Sprintf("limit/%s on every request", kind), faults: on(kind, reads(), tokens(), gits(), writes()),
		})
	}
	return out
}

// brokenRows are answers that say nothing and answers that do not come.
func brokenRows() []faultRow {
	out := []faultRow{{
		name: "git server hangs", faults: []githubsim.Fault{{Kind: githubsim.FaultHangBefore, Path: `/git-upload-pack$`}},
	}}
	for _, kind := range []githubsim.FaultKind{
		githubsim.FaultServerError, githubsim.FaultCutBefore, githubsim.FaultHangBefore,
		githubsim.FaultLostAnswer, githubsim.FaultCutAfter, githubsim.FaultHangAfter,
	} {
		out = append(out, faultRow{name: fmt.Sprintf("broken/%s on writes", kind), faults: on(kind, writes())})
		others := faultRow{name: fmt.Sprintf("broken/%s on reads and tokens", kind), faults: on(kind, reads(), tokens())}
		if kind != githubsim.FaultHangBefore && kind != githubsim.FaultHangAfter { // git waits a minute: a row of its own
			others.faults = append(others.faults, on(kind, gits())...)
		}
		out = append(out, others)
	}
	for _, status := range []int{http.StatusInternalServerError, http.StatusServiceUnavailable} {
		r := faultRow{name: fmt.Sprintf("broken/%d on everything", status), faults: on(githubsim.FaultServerError, reads(), tokens(), gits(), writes())}
		for i := range r.faults {
			r.faults[i].Status = status
		}
		out = append(out, r)
	}
	return out
}
