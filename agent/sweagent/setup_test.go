package sweagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/sweagent"
	"github.com/yudai-dev/yudai/internal/hostmachine"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/solve"
)

func TestMain(m *testing.M) {
	local.Stage()
	if len(os.Args) > 1 && os.Args[1] == fakeArg {
		os.Exit(runFake(os.Args[2:]))
	}
	os.Exit(m.Run())
}

const doorToken = "yrt_0123456789abcdef"

// need skips a test for want of something, or fails it where that is required.
func need(t *testing.T, what string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv("YUDAI_TEST_REQUIRE"), ","), what):
		t.Fatalf("%s is required: %v", what, err)
	default:
		t.Skipf("%s: %v", what, err)
	}
}

// world is a sandbox, a store and a gateway that outlive owners.
type world struct {
	t       *testing.T
	machine *hostmachine.Machine
	gateway string
	agent   *sweagent.Agent

	mu         sync.Mutex
	transcript []byte
	progress   solve.Progress
	calls      int
	trouble    error
}

func setup(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "sweagent") // a test's own directory has the test's name, with any character
	if err != nil {
		t.Fatal(err)
	}
	m, err := hostmachine.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Halt(context.Background()); os.RemoveAll(dir) })
	w := &world{t: t, machine: m}
	gateway := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.calls++; r.URL.Path != "/run/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+doorToken || w.trouble != nil {
			rw.WriteHeader(http.StatusUnauthorized)
		}
		rw.Write([]byte("{}"))
	}))
	t.Cleanup(gateway.Close)
	w.gateway = gateway.URL
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.agent = sweagent.Hasty(sweagent.New(sweagent.Config{Command: []string{exe, fakeArg}}))
	return w
}

// job is a run whose task makes the program do these things.
func (w *world) job(do ...string) agent.Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return agent.Job{
		Task: "do: " + strings.Join(do, "\ndo: "), Name: "y-1-1-1", Machine: w.machine, Shell: w.machine,
		Limits: solve.Limits{RunTime: time.Minute, CommandTime: time.Minute},
		Door: &agent.Door{
			URL: w.gateway + "/run", Token: doorToken, Model: "m", APIs: []string{agent.APIChat},
			Usage:   func() solve.Usage { w.mu.Lock(); defer w.mu.Unlock(); return solve.Usage{Calls: w.calls} },
			Trouble: func() error { w.mu.Lock(); defer w.mu.Unlock(); return w.trouble },
		},
		Resume: bytes.Clone(w.transcript), Progress: w.progress,
		Save: func(ctx context.Context, lines []byte, p solve.Progress) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.transcript, w.progress = append(w.transcript, lines...), p
			return ctx.Err()
		},
	}
}

func (w *world) run(j agent.Job, exit string) agent.Result {
	w.t.Helper()
	res := w.agent.Run(w.t.Context(), j)
	if res.Exit != exit {
		w.t.Fatalf("exit %q (%s; %v), want %q\n%s", res.Exit, res.Reason, res.Err, exit, w.transcript)
	}
	w.nothingRuns()
	return res
}

func (w *world) nothingRuns() {
	w.t.Helper()
	if on, err := w.machine.Launched(context.Background()); on || err != nil {
		w.t.Error("something still runs", err)
	}
}

// observations are what the transcript has of the commands, and its roles.
func (w *world) observations() (seen []string, roles string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range bytes.Lines(w.transcript) {
		var m agent.Message
		if err := json.Unmarshal(line, &m); err != nil {
			w.t.Fatal(err)
		}
		roles += m.Role + " "
		if m.Role == agent.RoleTool {
			seen = append(seen, m.Content)
		}
	}
	return seen, strings.TrimSpace(roles)
}

// await waits until the transcript has a text.
func (w *world) await(text string) {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for {
		w.mu.Lock()
		found := bytes.Contains(w.transcript, []byte(text))
		w.mu.Unlock()
		if found {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			w.t.Fatalf("the transcript never had %q", text)
		}
	}
}
