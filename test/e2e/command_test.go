package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// TestCancelInEveryState cancels by comment in each state a solve can be seen
// in; it is over within five seconds, and nothing is left behind.
func TestCancelInEveryState(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	for _, state := range []solve.State{solve.StateQueued, solve.StatePreparing, solve.StateRunning} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			a, s := load(t, "crash/endless")
			w := newWorld(t, a)
			if state == solve.StatePreparing {
				w.cfg.Solver.Tests.Install, w.cfg.Solver.Tests.Hosts = "sleep 60", nil
			}
			if state == solve.StateQueued { // GitHub does not answer who may write: the solve stays queued
				w.holdPermissions()
			}
			srv, _ := w.serve()
			w.openIssue(a)
			w.trigger(s)
			w.until(srv, time.Minute, func(v report.View) bool {
				return v.Solve.State == state && (state != solve.StateRunning || v.Runs[0].Progress.Steps > 1)
			})
			w.releasePermissions()
			_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, "/yudai cancel")
			w.must(err)
			var asked time.Time
			v := w.until(srv, 30*time.Second, func(v report.View) bool { asked = v.Solve.CancelAt; return v.Solve.State.Final() })
			if v.Solve.State != solve.StateCancelled {
				t.Fatalf("the solve is %s: %s", v.Solve.State, v.Solve.Reason)
			}
			if took := v.Solve.Ended.Sub(asked); took > 5*time.Second {
				t.Errorf("cancelled after %s, want at most 5s", took)
			}
			if state == solve.StateRunning && v.Runs[0].Candidate == nil {
				t.Error("what the run had changed was not harvested")
			}
			w.final(srv, 30*time.Second)
			if n := len(w.pulls()); n != 0 {
				t.Errorf("%d pull requests after a cancel", n)
			}
			w.poll(20*time.Second, func() bool { return len(w.leftovers()) == 0 })
		})
	}
}

// TestStatusAndHelp answers questions while a solve runs, and a second trigger with the running one.
func TestStatusAndHelp(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, s := load(t, "crash/endless")
	w := newWorld(t, a)
	srv, _ := w.serve()
	w.openIssue(a)
	w.trigger(s)
	w.until(srv, time.Minute, func(v report.View) bool { return v.Solve.State == solve.StateRunning })
	for _, c := range []struct{ ask, answer string }{
		{"/yudai help", "budget="},
		{"/yudai status", "Cost so far"},
		{"/yudai solve", "being solved already"},
	} {
		_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, c.ask)
		w.must(err)
		w.awaitComments([]string{c.answer})
	}
	w.hub.CreateUser("mallory")
	w.must(w.hub.SetPermission(w.repo.FullName(), "mallory", "read"))
	var refused []int64
	for _, ask := range []string{"/yudai cancel", "/yudai status", "/yudai help", "/yudai solve", "/yudai sovle"} {
		id, err := w.hub.Comment(w.repo.FullName(), w.issue, "mallory", ask)
		w.must(err)
		refused = append(refused, id)
	}
	w.awaitComments([]string{"mallory has the permission"})
	w.poll(30*time.Second, func() bool { return slices.Equal(w.reactionsTo(refused), []string{"-1"}) })
	if v, err := srv.Latest(t.Context(), w.repo.ID, w.issue); err != nil || v.Solve.State != solve.StateRunning {
		t.Errorf("a reader's cancel counted: %s, %v", v.Solve.State, err)
	}
	_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, "/yudai cancel")
	w.must(err)
	w.final(srv, 30*time.Second)
}

// TestOneSolveForManyDeliveries sends every webhook three times and puts the
// label on and off: one solve, one pull request.
func TestOneSolveForManyDeliveries(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, s := load(t, "02_command")
	w := newWorld(t, a)
	w.cfg.Solver.Defaults.Models, s.Trigger = []string{"careful"}, "label"
	w.hub.Disturb(githubsim.Disturbance{Kind: githubsim.DisturbDuplicate, Count: -1})
	srv, _ := w.serve()
	w.openIssue(a)
	w.trigger(s)
	w.must(w.hub.Unlabel(w.repo.FullName(), w.issue, user, "yudai:solve"))
	w.trigger(s)
	v := w.final(srv, 2*time.Minute)
	if v.Solve.State != solve.StateSolved {
		t.Fatalf("the solve is %s: %s", v.Solve.State, v.Solve.Reason)
	}
	claims := 0
	for _, r := range w.hub.History() {
		if r.Method == "POST" && strings.HasSuffix(r.Path, "/git/refs") && r.Status == http.StatusCreated {
			claims++
		}
	}
	if claims != 1 || len(w.pulls()) != 1 {
		t.Errorf("%d claim branches and %d pull requests, want one of each", claims, len(w.pulls()))
	}
}

// TestAPI asks by HTTP, as the seeds describe it.
func TestAPI(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "02_command")
	w := newWorld(t, a)
	srv, _ := w.serve()
	w.openIssue(a)
	base := "http://" + srv.Addr()
	body := fmt.Sprintf(`{"repo_url": "%s/%s", "issue_number": %d, "base_branch": "main",
		"matrix": {"models": ["careful"], "temps": [0.2], "max_edits": [5], "evolution": ["small-steps"]},
		"limits": {"max_parallel": 2, "time_budget_s": 120}}`, w.hub.URL(), w.repo.FullName(), w.issue)
	if status, _ := call(t, "POST", base+"/solve", "", body); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	status, answer := call(t, "POST", base+"/solve", "operator-token-of-the-test", body)
	if status != http.StatusAccepted {
		t.Fatalf("POST /solve: %d %v", status, answer)
	}
	id, _ := answer["solve_id"].(string)
	v := w.final(srv, time.Minute)
	if string(v.Solve.ID) != id || v.Solve.State != solve.StateSolved || len(v.Runs) != 1 {
		t.Fatalf("solve %s is %s with %d runs: %s", v.Solve.ID, v.Solve.State, len(v.Runs), v.Solve.Reason)
	}
	x := v.Runs[0].Experiment
	if x.MaxEdits != 5 || x.Strategy != "small-steps" || *x.Temperature != 0.2 || v.Solve.Plan.Limits.Parallel != 2 || v.Solve.Plan.Limits.SolveTime != 2*time.Minute {
		t.Errorf("the matrix or the limits were not taken: %+v %+v", x, v.Solve.Plan.Limits)
	}
	status, answer = call(t, "GET", base+"/solve/"+id+"/status", "operator-token-of-the-test", "")
	if status != http.StatusOK || answer["state"] != "solved" {
		t.Errorf("GET status: %d %v", status, answer)
	}
	if patch := get(t, base+"/solve/"+id+"/runs/1/patch", "operator-token-of-the-test"); !bytes.HasPrefix(patch, []byte("diff --git ")) {
		t.Errorf("the patch: %s", patch)
	}
	events := get(t, base+"/solve/"+id+"/events", "operator-token-of-the-test")
	if n := bytes.Count(events, []byte("\ndata: {")); n != int(v.Solve.Seq) || !bytes.HasSuffix(events, []byte("event: end\ndata: \n\n")) {
		t.Errorf("%d events of %d: %s", n, v.Solve.Seq, events)
	}
	for _, query := range []string{"", "?log=tests"} {
		if log := get(t, base+"/solve/"+id+"/runs/1/log"+query, "operator-token-of-the-test"); !bytes.HasSuffix(log, []byte("\n")) {
			t.Errorf("the log%s: %q", query, log)
		}
	}
	if rec, err := solve.ReadRecord(get(t, base+"/solve/"+id+"/record", "operator-token-of-the-test")); err != nil {
		t.Error(err)
	} else if _, same := report.Explain(rec); !same {
		t.Error("the exported record does not recompute")
	}
	if b, err := bundle.Read(bytes.NewReader(get(t, base+"/solve/"+id+"/bundle", "operator-token-of-the-test"))); err != nil {
		t.Error(err)
	} else if _, err := b.Decide(); err != nil || b.Verify(b.Key) != nil {
		t.Errorf("the bundle is not accepted: %v %v", err, b.Verify(b.Key))
	}
	for _, path := range []string{"/openapi.json", "/docs", "/healthz"} {
		if status, _ := call(t, "GET", base+path, "", ""); status != http.StatusOK {
			t.Errorf("GET %s: %d", path, status)
		}
	}
	for _, bad := range []string{`{}`, `{"repo_url":"nowhere","issue_number":1}`, strings.Replace(body, "careful", "unheard-of", 1), strings.Replace(body, `"main"`, `"../x"`, 1)} {
		status, answer := call(t, "POST", base+"/solve", "operator-token-of-the-test", bad)
		if status < 400 || status >= 500 || answer["detail"] == nil {
			t.Errorf("POST %s: %d %v", bad, status, answer)
		}
	}
}

func call(t *testing.T, method, url, token, body string) (int, map[string]any) {
	t.Helper()
	status, data := request(t, method, url, token, body)
	out := map[string]any{}
	_ = json.Unmarshal(data, &out)
	return status, out
}

func get(t *testing.T, url, token string) []byte {
	t.Helper()
	_, data := request(t, "GET", url, token, "")
	return data
}

func request(t *testing.T, method, url, token, body string) (int, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second*patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, data
}

// TestSecretsStayInside looks for every secret in everything that is written:
// the store, transcripts, artifacts, logs, and all texts on GitHub. The agent
// of this solve prints all it can see.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, s := load(t, "crash/nosy")
	w := newWorld(t, a)
	p := w.startProcess()
	w.openIssue(a)
	w.trigger(s)
	w.poll(time.Minute, func() bool { return strings.Contains(strings.Join(w.ourComments(), ""), "kind=result") })
	p.kill()

	secrets := map[string]string{"webhook secret": w.app.WebhookSecret, "API token": w.env["YUDAI_API_TOKEN"]}
	key := strings.Split(strings.TrimSpace(string(w.app.PrivateKeyPEM)), "\n")
	secrets["private key"] = key[len(key)/2]
	look := func(where string, data []byte) {
		for name, secret := range secrets {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s holds the %s", where, name)
			}
		}
		if redacted := ghapp.Redact(string(data)); bytes.Contains(data, []byte("ghs_")) && redacted != string(data) {
			t.Errorf("%s holds an installation token", where)
		}
	}
	seen := 0
	w.must(filepath.WalkDir(filepath.Join(w.dir, "store"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		look(path, data)
		seen++
		return err
	}))
	if seen < 4 {
		t.Errorf("only %d files of the store were looked at", seen)
	}
	look("the log", []byte(p.log.String()))
	for _, c := range w.ourComments() {
		look("a comment", []byte(c))
	}
	for _, r := range w.hub.History() {
		look("a request to GitHub", r.Body)
	}
}
