package e2e_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/sandbox/egress"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// tinyAgent is the agent that docs/agents.md shows.
func tinyAgent(t *testing.T) command.Entry {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)run by a test -->\n```yaml\n(.*?)```").FindSubmatch(page)
	if text == nil {
		t.Fatal("docs/agents.md has no example")
	}
	cfg, err := server.Parse("agents.md", text[1], func(string) string { return "" })
	if err != nil || len(cfg.Agents.Commands) != 1 {
		t.Fatal(err)
	}
	return cfg.Agents.Commands[0]
}

// residents is a world for agents that live in the sandbox, and what asks for a solve.
func residents(t *testing.T, name string, agents ...string) (*world, scenario, func()) {
	t.Helper()
	a, s := load(t, name)
	w := newWorld(t, a)
	w.cfg.Gateway.Dir = filepath.Join(w.dir, "gateway")
	w.cfg.Agents.Commands = []command.Entry{tinyAgent(t)}
	w.cfg.Solver.Defaults.Agents = agents
	return w, s, func() { w.openIssue(a); w.trigger(s) }
}

// registries opens the way to package registries as this machine has it: by mirrors with
// private addresses, and with certificates of its own.
func (w *world) registries() {
	w.t.Helper()
	for _, host := range []string{"registry.npmjs.org", "pypi.org", "files.pythonhosted.org"} {
		addrs, err := net.DefaultResolver.LookupNetIP(w.t.Context(), "ip", host)
		if err != nil {
			continue // the install will say so
		}
		for _, a := range addrs {
			if a = a.Unmap(); !egress.Public(a) {
				private := netip.PrefixFrom(a, a.BitLen()).String()
				w.cfg.Sandbox.Local.AllowPrivate = append(w.cfg.Sandbox.Local.AllowPrivate, private)
				w.cfg.Sandbox.Docker.AllowPrivate = append(w.cfg.Sandbox.Docker.AllowPrivate, private)
			}
		}
	}
	env := map[string]string{}
	for _, name := range []string{"PIP_INDEX_URL", "PIP_CERT", "npm_config_registry", "npm_config_cafile", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"} {
		if v := os.Getenv(name); v != "" {
			env[name] = v
		}
	}
	w.cfg.Solver.Tests.InstallEnv = env
}

// An agent of the operator's own, the one of docs/agents.md, from the label to the pull request.
func TestOwnAgent(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	w, s, ask := residents(t, "agents/quick", "tiny")
	srv, stop := w.serve()
	ask()
	w.tinySolves(srv, s)
	w.gone()
	stop()
	w.noToken("OPENAI_API_KEY=[run token]")
}

// Real agents from their registries, in the sandboxes of this machine, without a network
// but the gateway: each solves the sample.
func TestRealAgents(t *testing.T) {
	t.Parallel()
	require.Long(t)
	requireSandbox(t)
	require.Programs(t, "npm", "npm")
	require.Programs(t, "pip", "pip3")
	for _, p := range []struct {
		place  func(t *testing.T) place
		agents []string
	}{
		{func(*testing.T) place { return localPlace() }, []string{"mini-swe-agent", "claude-code", "codex"}},
		{dockerPlace, []string{"mini-swe-agent"}},
	} {
		t.Run(strings.Join(p.agents, " "), func(t *testing.T) {
			t.Parallel() // much of the time is for downloads
			w, s, ask := residents(t, "agents/quick", p.agents...)
			there := p.place(t)
			there.settle(w)
			w.registries()
			srv, stop := w.serve()
			ask()
			v := w.final(srv, 8*time.Minute)
			w.checkSolve(v, s)
			for _, r := range v.Runs {
				t.Logf("%s: %s, %+v", r.Experiment.Agent, r.Exit, r.Progress)
				if r.State != solve.RunPassed || r.Attempt != 1 || r.Progress.Usage.Calls < 4 || r.Progress.Usage.Cost == 0 {
					t.Errorf("%s is %s (%s, %s) in attempt %d after %d calls", r.Experiment.Agent, r.State, r.Exit, r.Reason, r.Attempt, r.Progress.Usage.Calls)
				}
			}
			there.clears(w)
			w.gone()
			stop()
			w.noToken("")
		})
	}
}

// The process is killed in the middle of a run. The program goes on in its sandbox, and
// the next process follows it: it is not started twice, and no call is paid twice.
func TestResidentOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	w, s, ask := residents(t, "crash/slow", "tiny")
	first := w.startProcess()
	ask()
	w.awaitTranscript(2, 30*time.Second) // the task, and what the first step printed
	first.kill()
	programs := w.inSandboxes("python3")
	if len(programs) != 1 {
		t.Fatalf("processes of the agent while nobody watches: %q", programs)
	}
	srv, stop := w.serve()
	v := w.final(srv, time.Minute)
	w.checkSolve(v, s)
	w.checkTexts(s, 0)
	w.paidOnce(v, 4)
	w.checkOneOfEach()
	w.gone()
	stop()
	w.noToken("")
}

// A cancel in the middle ends the program at once.
func TestResidentIsCancelled(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	w, _, ask := residents(t, "crash/endless", "tiny")
	srv, stop := w.serve()
	ask()
	w.awaitTranscript(2, 30*time.Second)
	if len(w.inSandboxes("python3")) == 0 {
		t.Fatal("the agent's program was not found")
	}
	_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, "/yudai cancel")
	w.must(err)
	v := w.final(srv, 30*time.Second)
	if v.Solve.State != solve.StateCancelled || v.Runs[0].State != solve.RunCancelled {
		t.Errorf("the solve is %s, its run %s", v.Solve.State, v.Runs[0].State)
	}
	w.gone()
	stop()
}

// tinySolves waits for the solve of `tiny`: right, and paid once for its one edit.
func (w *world) tinySolves(srv *server.Server, s scenario) {
	w.t.Helper()
	v := w.final(srv, time.Minute)
	w.checkSolve(v, s)
	w.checkTexts(s, 0)
	w.paidOnce(v, 4)
	if p := v.Runs[0].Progress; p.Edits != 1 || p.Usage.Cost == 0 {
		w.t.Errorf("%+v", p)
	}
}

// paidOnce wants one attempt with so many calls, all counted in steps, too.
func (w *world) paidOnce(v report.View, calls int) {
	w.t.Helper()
	for _, r := range v.Runs {
		if r.Attempt != 1 || r.Progress.Usage.Calls != calls || r.Progress.Steps != calls {
			w.t.Errorf("run %d: attempt %d, %d calls, %d steps; want 1 attempt with %d", r.N, r.Attempt, r.Progress.Usage.Calls, r.Progress.Steps, calls)
		}
	}
}

// inSandboxes lists agents' processes in sandboxes of this world, by their program. What is
// mounted in a sandbox says whose it is.
func (w *world) inSandboxes(program string) []string {
	w.t.Helper()
	var out []string
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range found {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		mounts, _ := os.ReadFile(filepath.Join(dir, "mountinfo"))
		if first, _, _ := bytes.Cut(line, []byte{0}); bytes.HasSuffix(first, []byte(program)) && bytes.Contains(env, []byte("YUDAI_TASK_FILE=")) &&
			bytes.Contains(mounts, []byte(w.dir)) {
			out = append(out, string(line))
		}
	}
	return out
}

// gone waits until nothing of the runs is left: no sandbox, no socket, no process.
func (w *world) gone() {
	w.t.Helper()
	w.poll(20*time.Second, func() bool {
		sockets, _ := filepath.Glob(filepath.Join(w.cfg.Gateway.Dir, "y-*"))
		return len(w.leftovers()) == 0 && len(sockets) == 0
	})
	if left := w.inSandboxes("python3"); len(left) > 0 {
		w.t.Errorf("the agent still runs: %q", left)
	}
}

// noToken looks for run tokens in all that is kept and shown. Where one was printed,
// the mark in its place has to be there.
func (w *world) noToken(mark string) {
	w.t.Helper()
	token := regexp.MustCompile(`yudai-run-[a-z2-7]{20,}`)
	look := func(name string, data []byte) {
		if found := token.Find(data); found != nil {
			w.t.Errorf("%s holds the token %s", name, found)
		}
	}
	marked := mark == ""
	for _, dir := range []string{"store", "records"} {
		err := filepath.WalkDir(filepath.Join(w.dir, dir), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // only drivers of services elsewhere keep records
			}
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			look(path, data)
			marked = marked || bytes.Contains(data, []byte(mark))
			return err
		})
		w.must(err)
	}
	if !marked {
		w.t.Errorf("the program printed its token, and nothing that is kept has %q", mark)
	}
	look("the log", []byte(w.log.String()))
	look("GitHub", []byte(strings.Join(slices.Concat(w.ourComments(), []string{w.otherTexts()}), "\n")))
}
