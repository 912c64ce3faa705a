package presets_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/internal/hostmachine"
	"github.com/yudai-dev/yudai/model/played"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/solve"
)

const token = "yrt_0123456789abcdef"

// world is a machine with a repository and an installed agent, and a played model.
type world struct {
	t       *testing.T
	machine *hostmachine.Machine
	server  *httptest.Server

	mu         sync.Mutex
	calls      int
	keys       map[string]bool // how the calls identified themselves
	bodies     bytes.Buffer
	transcript []byte
}

// setup makes a world in which the program is installed and the script is played.
func setup(t *testing.T, p command.Program, script string) *world {
	t.Helper()
	installed := installedIn(t, p)
	dir, err := os.MkdirTemp("", "presets") // a test's own directory has the test's name, with any character
	if err != nil {
		t.Fatal(err)
	}
	m, err := hostmachine.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, machine: m, keys: map[string]bool{}}
	t.Cleanup(func() { m.Halt(context.Background()); os.RemoveAll(dir) })
	if err := os.Symlink(installed, m.Host(agent.InstallDir)); err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Load([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	h := played.Handler(func() (agent.Model, error) { return s.Model("m", solve.Experiment{}, agent.Price{}), nil })
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.answer(h, rw, r) }))
	t.Cleanup(w.server.Close)
	w.repository()
	return w
}

// answer plays a call and notes it.
func (w *world) answer(h http.Handler, rw http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	body.ReadFrom(r.Body)
	rw2 := &noted{ResponseWriter: rw}
	r.Body = http.MaxBytesReader(rw, readCloser{bytes.NewReader(body.Bytes())}, 1<<30)
	h.ServeHTTP(rw2, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Method == http.MethodPost { // Claude Code begins with a HEAD without a key
		w.keys[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+r.Header.Get("X-Api-Key")] = true
	}
	w.bodies.Write(body.Bytes())
	if rw2.code == http.StatusOK {
		w.calls++
	}
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// noted keeps the status.
type noted struct {
	http.ResponseWriter
	code int
}

func (n *noted) WriteHeader(code int)        { n.code = code; n.ResponseWriter.WriteHeader(code) }
func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// repository makes a git repository with instructions for agents, and with settings
// that would lead them astray.
func (w *world) repository() {
	w.t.Helper()
	for name, text := range map[string]string{
		"sum.txt": "one\n", "CLAUDE.md": "Instructions of claude.\n", "AGENTS.md": "Instructions of agents.\n",
		".claude/settings.json": `{"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:1"},"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch hooked"}]}]}}`,
		".mcp.json":             `{"mcpServers":{"x":{"command":"touch","args":["hooked"]}}}`,
		".codex/config.toml":    "[mcp_servers.x]\ncommand = \"touch\"\nargs = [\"hooked\"]\n[model_providers.gateway]\nbase_url = \"http://127.0.0.1:1\"\n",
		"opencode.json":         `{"mcp":{"x":{"type":"local","command":["touch","hooked"]}},"provider":{"gateway":{"options":{"baseURL":"http://127.0.0.1:1/v1"}}}}`,
	} {
		path := w.machine.Host("/workspace/repo/" + name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	w.sh("git init -q -b main . && git add -A && git -c user.name=a -c user.email=a@example.com commit -qm start")
}

// sh runs a command in the work tree.
func (w *world) sh(text string) string {
	w.t.Helper()
	out, err := w.machine.Run(w.t.Context(), text, time.Minute)
	if err != nil || out.ExitCode != 0 {
		w.t.Fatalf("%s: %+v, %v", text, out, err)
	}
	return out.Text
}

// run has the agent work on a task, as the solver does.
func (w *world) run(p command.Program, change func(*agent.Job)) agent.Result {
	w.t.Helper()
	j := agent.Job{
		Task: "Sum\n\nThe sum is wrong, `$(touch hooked)` and \"all\".", Name: "y-1-1-1", Shell: w.machine, Machine: w.machine,
		Limits: solve.Limits{RunTime: 2 * time.Minute, CommandTime: time.Minute},
		Door: &agent.Door{
			URL: w.server.URL, Token: token, Model: "m-1", APIs: p.APIs,
			Usage:   func() solve.Usage { w.mu.Lock(); defer w.mu.Unlock(); return solve.Usage{Calls: w.calls} },
			Trouble: func() error { return nil }, // so that the program's own word counts
		},
		Save: func(_ context.Context, lines []byte, _ solve.Progress) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.transcript = append(w.transcript, lines...)
			return nil
		},
	}
	if change != nil {
		change(&j)
	}
	res := command.New(p, command.DefaultConfig()).Run(w.t.Context(), j)
	if w.t.Failed() || testing.Verbose() {
		w.t.Logf("%+v\n%s", res, w.transcript)
	}
	return res
}

// messages are the transcript's.
func (w *world) messages() []agent.Message {
	w.t.Helper()
	var out []agent.Message
	for line := range bytes.Lines(w.transcript) {
		var m agent.Message
		if err := json.Unmarshal(line, &m); err != nil {
			w.t.Fatalf("%s: %v", line, err)
		}
		out = append(out, m)
	}
	return out
}

// installedIn returns a directory in which the agent is installed as its recipe says.
// It is kept in the user's cache.
func installedIn(t *testing.T, p command.Program) string {
	t.Helper()
	requireNPM(t)
	sum := sha256.New()
	for _, f := range p.Install.Files {
		sum.Write(f.Data)
	}
	sum.Write([]byte(p.Install.Command))
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "yudai", fmt.Sprintf("%s-%x", p.Name, sum.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	making, err := os.MkdirTemp(filepath.Dir(dir), "making-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(making)
	for _, f := range p.Install.Files {
		path := filepath.Join(making, strings.TrimPrefix(f.Path, agent.InstallDir))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, f.Mode); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "bash", "-c", p.Install.Command)
	c.Dir = making
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("install %s: %v\n%s", p.Name, err, out)
	}
	if err := os.Rename(making, dir); err != nil && !errors.Is(err, os.ErrExist) {
		if _, there := os.Stat(dir); there != nil {
			t.Fatal(err)
		}
	}
	return dir
}
