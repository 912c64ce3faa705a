package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

const triggerLabel = "yudai:solve"

// healing is a world whose program looks for what it missed several times a second, and
// walks through the repositories only if a test says so.
func healing(t *testing.T) (*world, *txtar.Archive) {
	t.Helper()
	requireSandbox(t)
	a, _ := load(t, "02_command")
	w := newWorld(t, a)
	w.cfg.Solver.Defaults.Models = []string{"careful"}
	w.cfg.GitHub.Recovery.Every, w.cfg.GitHub.Recovery.ScanEvery = 300*time.Millisecond, 0
	w.openIssue(a)
	return w, a
}

// issueIs opens another issue and makes it the one that the world's methods are about.
func (w *world) issueIs(title string) int {
	w.t.Helper()
	w.open(title, "It is about "+title+".")
	return w.issue
}

func (w *world) label(number int) {
	w.t.Helper()
	w.must(w.hub.Label(w.repo.FullName(), number, user, triggerLabel))
}

// solved waits until the issue has its one pull request and all its texts.
func (w *world) solved(srv *server.Server, number int) report.View {
	w.t.Helper()
	w.issue = number
	v := w.final(srv, time.Minute)
	if v.Solve.State != solve.StateSolved {
		w.t.Errorf("the solve of #%d is %s: %s", number, v.Solve.State, v.Solve.Reason)
	}
	return v
}

// logged waits until the program has logged a text n times.
func (w *world) logged(text string, n int) {
	w.t.Helper()
	w.poll(30*time.Second, func() bool { return strings.Count(w.log.String(), text) >= n })
}

// turns waits until the program has looked through the delivery log n more times.
func (w *world) turns(n int) {
	w.t.Helper()
	counter, ok := w.github.(*counting)
	if !ok {
		w.t.Fatal("nobody counts the requests")
	}
	want := counter.count("/app/hook/deliveries$") + n + 1 // one may be under way
	w.poll(30*time.Second, func() bool { return counter.count("/app/hook/deliveries$") >= want })
}

// counting notes the paths of requests; spoil, if set, may change an answer's body.
type counting struct {
	next  http.RoundTripper
	spoil func(path string, body []byte) []byte
	mu    sync.Mutex
	paths []string
}

func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	c.mu.Lock()
	c.paths = append(c.paths, req.URL.Path)
	c.mu.Unlock()
	if err != nil || c.spoil == nil {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	body = c.spoil(req.URL.Path, body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

func (c *counting) count(pattern string) int {
	re := regexp.MustCompile(pattern)
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, p := range c.paths {
		if re.MatchString(p) {
			n++
		}
	}
	return n
}

func (w *world) counted() *counting {
	c := &counting{next: w.github}
	w.github = c
	return c
}

// TestMissedDeliveries: a label and commands come while the program is down. It finds them
// at its start, answers each once, and redeliveries change nothing.
func TestMissedDeliveries(t *testing.T) {
	t.Parallel()
	w, _ := healing(t)
	requests := w.counted()
	first := w.issue
	w.label(first)
	second := w.issueIs("another")
	for _, text := range []string{"/yudai solve", "no command", "/yudai help"} {
		_, err := w.hub.Comment(w.repo.FullName(), second, user, text)
		w.must(err)
	}
	w.must(w.hub.AwaitIdle(t.Context()))
	missed := w.hub.Deliveries(w.app)

	srv, stop := w.serve()
	w.solved(srv, first)
	w.solved(srv, second)
	w.awaitComments([]string{"kind=reply"})
	w.turns(2)
	read := requests.count(`/app/hook/deliveries/\d+$`)
	if wanted := 4; read < wanted || read > wanted+12 { // and the comments of our own
		t.Errorf("%d payloads were read", read)
	}
	for _, d := range missed {
		w.must(w.hub.Redeliver(w.app, d.ID))
	}
	w.must(w.hub.AwaitIdle(t.Context()))
	stop()
	srv, stop = w.serve() // and the next process finds nothing to do
	w.turns(2)
	for _, number := range []int{first, second} {
		w.solved(srv, number)
	}
	for key, n := range w.creations() {
		if n != 1 {
			t.Errorf("%s was made %d times", key, n)
		}
	}
	if n := len(w.pulls()); n != 2 {
		t.Errorf("%d pull requests", n)
	}
	w.judge(stop)
}

// TestDroppedWhileItRuns: deliveries get lost on their way, and GitHub limits the App
// while they are looked for. That delays them, and loses none.
func TestDroppedWhileItRuns(t *testing.T) {
	t.Parallel()
	require.Long(t)
	w, _ := healing(t)
	first := w.issue
	srv, stop := w.serve()
	for _, path := range []string{"/app/hook/deliveries$", `/app/hook/deliveries/\d+$`} {
		for _, kind := range []githubsim.FaultKind{githubsim.FaultPrimary, githubsim.FaultSecondary429, githubsim.FaultServerError, githubsim.FaultCutBefore} {
			w.hub.Inject(githubsim.Fault{Kind: kind, Method: "GET", Path: path, Retry: time.Second})
		}
	}
	w.hub.Disturb(githubsim.Disturbance{Kind: githubsim.DisturbDrop, Event: "issues", Action: "labeled"})
	w.hub.Disturb(githubsim.Disturbance{Kind: githubsim.DisturbDrop, Event: "issue_comment", Action: "created"})
	w.label(first)
	second := w.issueIs("another")
	_, err := w.hub.Comment(w.repo.FullName(), second, user, "/yudai solve")
	w.must(err)
	w.solved(srv, first)
	w.solved(srv, second)
	w.logged("missed deliveries not all looked for", 1)
	w.judge(stop)
}

// TestLateDeliveries: what has become pointless by the time it is found is not done.
func TestLateDeliveries(t *testing.T) {
	t.Parallel()
	require.Long(t)
	w, _ := healing(t)
	full := w.repo.FullName()
	w.counted()
	unlabelled := w.issue
	closed, gone := w.issueIs("closed"), w.issueIs("gone")
	for _, number := range []int{unlabelled, closed, gone} {
		w.label(number)
	}
	w.must(w.hub.Unlabel(full, unlabelled, user, triggerLabel))
	w.must(w.hub.CloseIssue(full, closed, user))
	w.must(w.hub.DeleteIssue(full, gone, user))
	w.must(w.hub.AwaitIdle(t.Context()))
	srv, stop := w.serve()
	began := time.Now()
	w.logged("missed delivery is stale", 3)

	// Of a solve that lives: a cancel from before it was asked for, a suspension that is
	// over, and a repository that was out of the installation for a moment.
	lives := w.issueIs("lives")
	w.holdPermissions()
	w.label(lives)
	w.until(srv, time.Minute, func(v report.View) bool { return v.Solve.State == solve.StateQueued })
	w.hub.Disturb(githubsim.Disturbance{Kind: githubsim.DisturbDrop, Event: "issue_comment", Action: "created"})
	w.hub.Disturb(githubsim.Disturbance{Kind: githubsim.DisturbDrop, Event: "installation", Action: "suspend"})
	w.hub.Advance(-10 * time.Minute)
	_, err := w.hub.Comment(full, lives, user, "/yudai cancel")
	w.hub.Advance(10 * time.Minute)
	w.must(err)
	w.hub.Disturb(githubsim.Disturbance{Kind: githubsim.DisturbDrop, Event: "installation_repositories", Action: "removed"})
	w.must(w.hub.Suspend(w.install))
	w.must(w.hub.Unsuspend(w.install))
	w.must(w.hub.RemoveRepos(w.install, w.repo.Name))
	w.must(w.hub.AddRepos(w.install, w.repo.Name))
	w.logged("the solve that it means is over", 1)
	w.logged("event was undone, nothing stops", 2)
	w.turns(1)
	w.releasePermissions()
	w.solved(srv, lives)
	for _, number := range []int{unlabelled, closed, gone} {
		if _, err := srv.Latest(t.Context(), w.repo.ID, number); !errors.Is(err, solve.ErrNotFound) {
			t.Errorf("issue %d has a solve: %v", number, err)
		}
	}
	w.poll(time.Minute, func() bool { return time.Since(began) > 8*time.Second }) // a label may come back for a while
	w.judge(stop)
}

// TestMalformedDeliveryIsReadOnce: what the handlers refuse is not asked for again.
func TestMalformedDeliveryIsReadOnce(t *testing.T) {
	t.Parallel()
	w, _ := healing(t)
	w.label(w.issue)
	w.must(w.hub.AwaitIdle(t.Context()))
	requests := w.counted()
	one := regexp.MustCompile(`/app/hook/deliveries/\d+$`)
	requests.spoil = func(path string, body []byte) []byte {
		if !one.MatchString(path) {
			return body
		}
		return bytes.ReplaceAll(body, []byte(`"number":`), []byte(`"nummer":`))
	}
	_, stop := w.serve()
	w.logged("missed delivery refused", 1)
	w.turns(3)
	if n := requests.count(one.String()); n != 1 {
		t.Errorf("it was read %d times", n)
	}
	stop()
}

// TestLostStore: the database is gone, GitHub's log still shows what its predecessor was
// asked for. Where people got their answer nothing is done a second time.
func TestLostStore(t *testing.T) {
	t.Parallel()
	require.Long(t)
	w, _ := healing(t)
	w.counted()
	first := w.issue
	srv, stop := w.serve()
	w.label(first)
	w.solved(srv, first)
	w.must(w.hub.AwaitIdle(t.Context()))
	stop()
	w.must(os.RemoveAll(filepath.Dir(w.cfg.Store.Path)))
	second := w.issueIs("asked for while the store was gone")
	w.must(w.hub.SetWebhookURL(w.app, ""))
	w.label(second)
	w.must(w.hub.AwaitIdle(t.Context()))
	srv, _ = w.serve()
	w.logged("missed delivery is stale", 1)
	w.solved(srv, second)
	if _, err := srv.Latest(t.Context(), w.repo.ID, first); !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("what was solved is solved again: %v", err)
	}
	if n := len(w.pulls()); n != 2 {
		t.Errorf("%d pull requests", n)
	}
}

// TestManyMissedDeliveries: more was missed than one look reads. The next goes on from
// there, and reads nothing twice.
func TestManyMissedDeliveries(t *testing.T) {
	t.Parallel()
	require.Long(t)
	w, _ := healing(t)
	requests := w.counted()
	const many = 310
	for n := range many {
		_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, fmt.Sprint("comment ", n))
		w.must(err)
	}
	w.label(w.issue)
	w.must(w.hub.AwaitIdle(t.Context()))
	srv, stop := w.serve()
	w.solved(srv, w.issue)
	w.turns(2)
	if n := requests.count(`/app/hook/deliveries/\d+$`); n < many+1 || n > many+8 { // and the comments of our own
		t.Errorf("%d payloads were read for %d deliveries", n, many+1)
	}
	stop()
}

// TestHealingTurnedOff: with github.heal.every 0 nothing is looked for.
func TestHealingTurnedOff(t *testing.T) {
	t.Parallel()
	w, _ := healing(t)
	w.cfg.GitHub.Recovery.Every, w.cfg.GitHub.Recovery.ScanEvery = 0, time.Second
	requests := w.counted()
	w.label(w.issue)
	w.must(w.hub.AwaitIdle(t.Context()))
	srv, stop := w.serve()
	_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, "/yudai help")
	w.must(err)
	w.awaitComments([]string{"kind=reply"})
	if n := requests.count("^/app/hook|^/app/installations$"); n != 0 {
		t.Errorf("%d questions were asked", n)
	}
	if _, err := srv.Latest(t.Context(), w.repo.ID, w.issue); !errors.Is(err, solve.ErrNotFound) {
		t.Errorf("the label was found: %v", err)
	}
	stop()
}
