package sweagent_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/sweagent"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/hostmachine"
)

func TestMain(m *testing.M) {
	local.Stage()
	if len(os.Args) > 1 && os.Args[1] == fakeArg {
		os.Exit(runFake(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// world is a sandbox, a store and a gateway that outlive owners.
type world struct {
	t       *testing.T
	machine *hostmachine.Machine
	gateway string
	agent   *sweagent.Agent

	agenttest.Store

	mu      sync.Mutex
	calls   int
	trouble error
}

func setup(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, machine: agenttest.Machine(t)}
	gateway := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.calls++; r.URL.Path != "/run/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+agenttest.Token || w.trouble != nil {
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
	w.agent = sweagent.Hasty(sweagent.New(sweagent.Config{Command: []string{exe, fakeArg}}, time.Minute))
	return w
}

// job is a run whose task makes the program do these things.
func (w *world) job(do ...string) agent.Job {
	j := w.Job("do: "+strings.Join(do, "\ndo: "), w.machine, w.gateway+"/run", agent.APIChat)
	j.Gateway.Usage = func() solve.Usage { w.mu.Lock(); defer w.mu.Unlock(); return solve.Usage{Calls: w.calls} }
	j.Gateway.LastError = func() error { w.mu.Lock(); defer w.mu.Unlock(); return w.trouble }
	return j
}

func (w *world) run(j agent.Job, exit string) agent.Result {
	w.t.Helper()
	res := w.agent.Run(w.t.Context(), j)
	if res.Exit != exit {
		w.t.Fatalf("exit %q (%s; %v), want %q\n%s", res.Exit, res.Reason, res.Err, exit, w.Lines())
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
	for _, m := range w.Messages() {
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
	for !bytes.Contains(w.Lines(), []byte(text)) {
		select {
		case <-tick.C:
		case <-late:
			w.t.Fatalf("the transcript never had %q", text)
		}
	}
}
