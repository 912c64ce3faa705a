package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/watch"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/web"
)

const (
	token   = "operator-token-of-the-test"
	decided = "dc1toehksdufan2mcf90" // a solve that ended
	atWork  = "dc1toehksdufan2mcf91" // one whose run works
)

// start is when everything in a world began.
func start() time.Time { return time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC) }

// store holds what a world's pages read.
type store struct {
	mu         sync.Mutex
	solves     []solve.Solve
	runs       map[solve.ID][]solve.Run
	events     map[solve.ID][]solve.Entry
	files      map[string]string // "solve/name"
	records    []solve.TrackRecord
	recordsErr error
	watchers   []chan struct{}
	watchGone  int
}

func (s *store) Solve(_ context.Context, id solve.ID) (solve.Solve, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.solves {
		if one.ID == id {
			return one, nil
		}
	}
	return solve.Solve{}, solve.ErrNotFound
}

func (s *store) LiveSolves(context.Context) (out []solve.Solve, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.solves {
		if !one.State.Final() {
			out = append(out, one)
		}
	}
	return out, nil
}

func (s *store) Runs(_ context.Context, id solve.ID) ([]solve.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]solve.Run(nil), s.runs[id]...), nil
}

func (s *store) Events(_ context.Context, id solve.ID, after uint64) ([]solve.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[id][after:], nil
}

func (s *store) Artifact(_ context.Context, id solve.ID, name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.files[string(id)+"/"+name]
	if !ok {
		return nil, solve.ErrNotFound
	}
	return []byte(text), nil
}

func (s *store) Transcript(ctx context.Context, id solve.ID, n int) ([]byte, error) {
	return s.Artifact(ctx, id, fmt.Sprint("transcript-", n))
}

func (s *store) Spent(_ context.Context, since time.Time) (out []solve.Spending, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.solves {
		if !one.Started.Before(since) {
			out = append(out, solve.Spending{Solve: one.ID, Started: one.Started, Live: !one.State.Final(), Cost: solve.Cost(s.runs[one.ID])})
		}
	}
	return out, nil
}

func (s *store) TrackRecords(context.Context) ([]solve.TrackRecord, error) {
	return s.records, s.recordsErr
}

func (s *store) Watch(ctx context.Context) <-chan struct{} {
	ch := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, ch)
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchGone++
	})
	return ch
}

// change changes what is stored and tells of it.
func (s *store) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	for _, ch := range s.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// say appends to the transcript of the run that works.
func (s *store) say(messages ...agent.Message) {
	s.change(func() {
		for _, m := range messages {
			s.files[atWork+"/transcript-1"] += agent.JSON(m) + "\n"
		}
		s.runs[atWork][0].Progress.Last = agent.LastAction([]byte(s.files[atWork+"/transcript-1"]))
		s.runs[atWork][0].Progress.Steps++
	})
}

// turn is a command of an agent and what it printed.
func turn(at int, said, command, output string, exit int) []agent.Message {
	clock := float64(start().Unix() + int64(at))
	return []agent.Message{
		{
			Role: agent.RoleAssistant, Content: said, Extra: map[string]any{"timestamp": clock, "cost": 0.0004},
			ToolCalls: []agent.ToolCall{{ID: "c", Name: "bash", Arguments: agent.JSON(map[string]string{"command": command})}},
		},
		{
			Role: agent.RoleTool, ToolCallID: "c", Content: "{}",
			Extra: map[string]any{"timestamp": clock + 0.4, "raw_output": output, "returncode": float64(exit)},
		},
	}
}

// world is the pages over a store with a decided solve and one at work.
type world struct {
	t     testing.TB
	store *store
	pages *web.Pages
	now   time.Time
	hub   *people
	// sessions is the file that keeps them.
	sessions string
	health   []web.Health
	settings []web.Setting
	doctor   *doctor
}

// doctor finds what a test says.
type doctor struct {
	mu      sync.Mutex
	last    web.Checkup
	started int
	watch.Watchers
}

func (d *doctor) Last() web.Checkup {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

func (d *doctor) Start() {
	d.mu.Lock()
	d.started++
	d.mu.Unlock()
	d.find(web.Checkup{Began: start(), Running: true})
}

// find is what the doctor found so far.
func (d *doctor) find(c web.Checkup) {
	d.mu.Lock()
	d.last = c
	d.mu.Unlock()
	d.Signal()
}

// public is where the pages of a world are reached.
const public = "http://yudai.example"

// people are those who sign in; a code of the world's GitHub is the login of who agreed.
type people struct {
	mu     sync.Mutex
	access map[string]solve.Access // by login
	asked  int
	err    error
	// pressed are the buttons: who, what, with what.
	pressed []string
	// agree has GitHub send the browser back at once, as this person; "" sends it to a GitHub that is not there.
	agree string
}

func (p *people) press(_ context.Context, _ solve.Solve, who solve.Person, kind solve.CommandKind, argument string) (string, error) {
	if argument == "9" {
		return "There is no run 9.", nil
	}
	p.pressed = append(p.pressed, fmt.Sprintf("%s %s %s", who.Login, kind, argument))
	return "", nil
}

func (p *people) URL(state, verifier string) string {
	if p.agree != "" {
		return "/signin/callback?" + url.Values{"state": {state}, "code": {p.agree + "/" + verifier}}.Encode()
	}
	return "https://github.example/authorize?" + url.Values{"state": {state}, "verifier": {verifier}}.Encode()
}

func (p *people) Person(_ context.Context, code, verifier string) (solve.Person, error) {
	login, with, _ := strings.Cut(code, "/")
	if with != verifier {
		return solve.Person{}, errors.New("bad_verification_code")
	}
	return solve.Person{ID: int64(len(login)), Login: login}, nil
}

func (p *people) may(_ context.Context, _ solve.Repo, who solve.Person) (solve.Access, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	return p.access[who.Login], p.err
}

// let changes what somebody may do.
func (p *people) let(login string, a solve.Access) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.access[login] = a
}

const patchText = `diff --git a/compare.go b/compare.go
index 111..222 100644
--- a/compare.go
+++ b/compare.go
@@ -18,3 +18,3 @@ func compare
 func f() int {
-	return strings.Compare(a, b)
+	return number(a) - number(b) // <b>bold</b>
 }
`

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, now: start().Add(48 * time.Second), store: &store{
		runs: map[solve.ID][]solve.Run{}, events: map[solve.ID][]solve.Entry{}, files: map[string]string{},
	}}
	w.addDecided()
	w.addAtWork()
	w.addRecords()
	w.hub = &people{access: map[string]solve.Access{"reader": {Reads: true}, "writers": {Reads: true, Writes: true}}}
	w.doctor = &doctor{last: web.Checkup{Ready: true}}
	w.health = []web.Health{
		{Name: "local", Level: web.Good, Since: start()},
		{Model: true, Name: "gpt-5-mini", Level: web.Bad, Since: start(), Error: "the key was refused; check <OPENAI_API_KEY>"},
		{Model: true, Name: "spare", Error: "SPARE_KEY is not set"},
	}
	w.settings = []web.Setting{
		{Key: "server.address", Value: ":9090", From: "config.yml, line 2", Default: "127.0.0.1:8080"},
		{Key: "server.label", Value: "yudai:solve", From: "default"},
		{Key: "solver.limits.run_time", Value: "90m", From: "variable YUDAI_SOLVER_LIMITS_RUN_TIME", Default: "20m", Repository: "limits.run_time"},
		{Key: "solver.stop", Value: strings.Repeat("<b>long ", 100), From: "default"},
	}
	w.sessions = filepath.Join(t.TempDir(), "sessions.json")
	w.restart()
	return w
}

// clock may be read while a test turns it in a change of the store.
func (w *world) clock() time.Time {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	return w.now
}

// restart begins the pages anew over the same store and files.
func (w *world) restart() {
	w.t.Helper()
	var err error
	w.pages, err = web.New(web.Options{
		SignIn: w.hub, Access: w.hub.may, Ask: w.hub.press, PublicURL: public, SessionFile: w.sessions,
		Store: w.store, Token: token, Label: "yudai:solve", DayLimit: 50_000_000, Slots: 8, Now: w.clock,
		Health: func() []web.Health { return w.health }, Settings: func() []web.Setting { return w.settings }, Doctor: w.doctor,
		Bundle: func(context.Context, solve.ID) (func(io.Writer) error, error) {
			return func(out io.Writer) error { _, err := io.WriteString(out, "a tar"); return err }, nil
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func newSolve(id solve.ID, title string) solve.Solve {
	return solve.Solve{
		V: 1, ID: id, Repo: solve.Repo{ID: 1, Owner: "acme", Name: "semver"}, Issue: solve.Issue{Number: 1, Title: title},
		Trigger: solve.Trigger{Kind: solve.TriggerLabel, Actor: "mona"}, Created: start(), Started: start(),
		Base: solve.Base{Branch: "main", SHA: "36480d7aa"},
		Plan: solve.Plan{Limits: solve.Limits{SolveMoney: 2_000_000, RunSteps: 8}, Sandbox: "local"},
	}
}

// addDecided adds a solve with a champion, a runner-up that weakened nothing, and one that failed.
func (w *world) addDecided() {
	s := newSolve(decided, "1.10.0 is sorted before 1.9.0")
	s.State, s.Ended = solve.StateSolved, start().Add(48*time.Second)
	s.Pull = &solve.Pull{Number: 2, URL: "http://github.example/acme/semver/pull/2"}
	temp := 0.2
	verdicts := []*solve.Verdict{
		{Outcome: solve.Passed, Kept: 4, Fixed: 1, FixedTests: []string{"TestCompareNumeric"}, Log: "run-1-tests.log"},
		{Outcome: solve.Passed, Kept: 4, Fixed: 1, FixedTests: []string{"TestCompareNumeric"}},
		{Outcome: solve.Failed, Kept: 3, Broken: 1, BrokenTests: []string{"TestParse"}, Reason: "it breaks a test"},
	}
	for i, model := range []string{"careful", "sprawling", "hasty"} {
		n := i + 1
		r := solve.Run{
			V: 1, Solve: decided, N: n, State: solve.RunPassed, Attempt: 1, Verdict: verdicts[i], AgentTime: 13 * time.Second,
			Experiment: solve.Experiment{Agent: "mini", Model: model, Temperature: &temp, Strategy: "plain", Repeat: 1},
			Candidate: &solve.Candidate{
				Artifact: fmt.Sprintf("run-%d.patch", n), SHA256: fmt.Sprint(n), Added: 10 * n, Files: make([]solve.FileChange, n),
			},
			Progress: solve.Progress{Steps: 2, Usage: solve.Usage{Calls: 2, Input: 4000, Output: 120, Cost: 2800}},
		}
		if n == 3 {
			r.State = solve.RunFailed
		}
		w.store.runs[decided] = append(w.store.runs[decided], r)
		w.store.files[fmt.Sprintf("%s/run-%d.patch", decided, n)] = patchText
		const failing = "\x1b[31m--- FAIL: TestCompareNumeric\x1b[0m\nFAIL\n"
		did := append(turn(8+n, "Look how versions are compared.", "grep -n Compare *.go", "compare.go:18: Compare\n", 0),
			turn(12+n, "Run the tests.", "go test ./...", failing, 1)...)
		for _, m := range did {
			w.store.files[fmt.Sprintf("%s/transcript-%d", decided, n)] += agent.JSON(m) + "\n"
		}
		for j, e := range []solve.EventName{solve.EventStarted, solve.EventAgentEnded, solve.EventPassed} {
			to := []string{"working", "harvesting", string(r.State)}[j]
			w.event(decided, n, e, to, 6+i+(14-2*i)*j)
		}
	}
	w.store.files[decided+"/run-1-tests.log"] = "ok\n"
	w.store.files[decided+"/run-1.traj.json"] = "{}"
	w.store.files[decided+"/base-tests.log"] = "--- FAIL: TestCompareNumeric\n"
	d := solve.Reduce(w.store.runs[decided], solve.Rule{})
	s.Decision = &d
	w.event(decided, 0, solve.EventClaimed, "preparing", 0)
	w.event(decided, 0, solve.EventBaseReady, "running", 6)
	w.event(decided, 0, solve.EventPublished, "solved", 48)
	w.store.solves = append(w.store.solves, s)
}

func (w *world) event(id solve.ID, run int, name solve.EventName, to string, at int) {
	w.store.events[id] = append(w.store.events[id], solve.Entry{
		Solve: id, Seq: uint64(len(w.store.events[id]) + 1), At: start().Add(time.Duration(at) * time.Second), Run: run, Event: name, To: to,
	})
}

// addAtWork adds a solve with one run that works.
func (w *world) addAtWork() {
	s := newSolve(atWork, "Race in the watcher")
	s.State = solve.StateRunning
	w.store.solves = append(w.store.solves, s)
	w.store.runs[atWork] = []solve.Run{{
		V: 1, Solve: atWork, N: 1, State: solve.RunWorking, Attempt: 1,
		Experiment: solve.Experiment{Agent: "mini", Model: "gpt-5-mini", Strategy: "plain", Repeat: 1},
		Progress:   solve.Progress{Last: "$ ls"},
	}}
	w.event(atWork, 0, solve.EventClaimed, "preparing", 0)
	w.event(atWork, 0, solve.EventBaseReady, "running", 6)
	w.event(atWork, 1, solve.EventStarted, "working", 8)
	w.store.say(turn(10, "Look.", "ls", "a.go\nb.go\n", 0)...)
}

// addRecords adds what won in the repository of the solves and in another one.
func (w *world) addRecords() {
	careful := solve.Arm{Model: "careful", Agent: "mini", Strategy: "plain"}
	w.store.records = []solve.TrackRecord{
		{Repo: solve.Repo{ID: 2, Owner: "acme", Name: "other"}, Solves: 2, Arms: []solve.ArmHistory{{Arm: careful, Right: 2, At: 2, Won: 2, Known: 2}}},
		{Repo: solve.Repo{ID: 1, Owner: "acme", Name: "semver"}, Solves: 12, Arms: []solve.ArmHistory{
			{Arm: solve.Arm{Model: "hasty", Agent: "mini"}, Wrong: 3, At: 12}, {Arm: careful, Right: 7, Wrong: 2, At: 12, Won: 7, Known: 9},
		}},
	}
}

// ask sends a request; cookie is "" for nobody.
func (w *world) ask(method, path, cookie string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, path, http.NoBody)
	r.Host = "yudai.example"
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	for _, f := range change {
		f(r)
	}
	out := httptest.NewRecorder()
	w.pages.ServeHTTP(out, r)
	return out
}

// enter opens the printed link and returns the cookie.
func (w *world) enter() string {
	w.t.Helper()
	answer := w.ask(http.MethodGet, w.pages.PageLink("/"), "")
	cookie, _, _ := strings.Cut(answer.Header().Get("Set-Cookie"), ";")
	if answer.Code != http.StatusSeeOther || cookie == "" {
		w.t.Fatalf("the link: %d %v", answer.Code, answer.Header())
	}
	return cookie
}

// signIn walks the way by GitHub and returns the cookie.
func (w *world) signIn(login string) string {
	w.t.Helper()
	ask := w.ask(http.MethodGet, "/signin?to=/solves/"+decided, "")
	kept, _, _ := strings.Cut(ask.Header().Get("Set-Cookie"), ";")
	to, err := url.Parse(ask.Header().Get("Location"))
	if err != nil || ask.Code != http.StatusSeeOther || kept == "" {
		w.t.Fatalf("the way to GitHub: %d %v %v", ask.Code, ask.Header(), err)
	}
	q := url.Values{"state": {to.Query().Get("state")}, "code": {login + "/" + to.Query().Get("verifier")}}
	answer := w.ask(http.MethodGet, "/signin/callback?"+q.Encode(), kept)
	cookie := ""
	for _, set := range answer.Header().Values("Set-Cookie") {
		if one, _, _ := strings.Cut(set, ";"); strings.HasPrefix(one, "yudai=") {
			wants(w.t, set, "HttpOnly", "SameSite=Lax", "Path=/;")
			cookie = one
		}
	}
	if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != "/solves/"+decided || cookie == "" {
		w.t.Fatalf("back from GitHub: %d %v\n%s", answer.Code, answer.Header(), answer.Body)
	}
	return cookie
}

// allPages has one page of each kind.
func allPages() []string {
	return []string{"/", "/solves/" + decided, "/solves/" + decided + "/runs/1", "/solves/" + decided + "/logs/run-1.log", "/solves/" + decided + "/compare"}
}

// get reads a page as the operator.
func (w *world) get(path string) string {
	w.t.Helper()
	answer := w.ask(http.MethodGet, path, w.enter())
	if answer.Code != http.StatusOK {
		w.t.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// wants fails unless the text holds each of the words.
func wants(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is missing in:\n%s", word, text)
		}
	}
}

// serve puts the pages on a listener.
func (w *world) serve() string {
	w.t.Helper()
	s := httptest.NewServer(w.pages)
	w.t.Cleanup(s.Close)
	w.t.Cleanup(w.pages.Stop) // first: it ends the streams
	return s.URL
}
