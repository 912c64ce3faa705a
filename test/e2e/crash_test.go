package e2e_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/yudai-dev/yudai/cmd"
	"github.com/yudai-dev/yudai/solve"
)

// childEnv makes this test binary a yudai process: its value is the
// configuration file.
const childEnv = "YUDAI_E2E_CHILD"

// beChild is `yudai serve` and never returns if this process is a child.
func beChild() {
	path := os.Getenv(childEnv)
	if path == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	code := cmd.Execute(ctx, []string{"serve", "--config", path}, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// process is a yudai process of its own.
type process struct {
	cmd *exec.Cmd
	log *logBuffer
}

func (w *world) startProcess() *process {
	w.t.Helper()
	data, err := yaml.Marshal(w.cfg)
	w.must(err)
	path := filepath.Join(w.dir, "config.yml")
	w.must(os.WriteFile(path, data, 0o600))
	exe, err := os.Executable()
	w.must(err)
	p := &process{cmd: exec.Command(exe), log: &logBuffer{}}
	p.cmd.Env = append(os.Environ(), childEnv+"="+path)
	for k, v := range w.env {
		p.cmd.Env = append(p.cmd.Env, k+"="+v)
	}
	p.cmd.Stderr = p.log
	w.must(p.cmd.Start())
	w.t.Cleanup(func() { p.kill() })
	listens := regexp.MustCompile(`listens on (http://\S+)`)
	var found []string
	w.poll(20*time.Second, func() bool {
		found = listens.FindStringSubmatch(p.log.String())
		return found != nil
	})
	w.must(w.hub.SetWebhookURL(w.app, found[1]+"/api/github/hook"))
	return p
}

// logBuffer is a process's standard error, read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// TestKilledRunGoesOn kills the process while a run is between two steps. The
// next process attaches to the run's sandbox and goes on at the next step: the
// model is not asked twice for what it answered, and there is one of everything.
func TestKilledRunGoesOn(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, s := load(t, "crash/slow")
	w := newWorld(t, a)
	first := w.startProcess()
	w.openIssue(a)
	w.trigger(s)
	w.awaitTranscript(4, 30*time.Second) // system, task, answer, observation: one step is stored
	first.kill()

	srv, _ := w.serve()
	v := w.final(srv, time.Minute)
	w.checkSolve(v, s)
	w.checkTexts(s, 0)
	r := v.Runs[0]
	if r.Attempt != 1 {
		t.Errorf("attempt %d: the run was started again although its sandbox was alive", r.Attempt)
	}
	if r.Progress.Usage.Calls != 4 {
		t.Errorf("%d model calls, want 4: none is paid twice", r.Progress.Usage.Calls)
	}
	w.checkOneOfEach()
}

// TestKilledInEachState kills the process in each state a person can see from
// outside and lets another one finish.
func TestKilledInEachState(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	for _, state := range []string{"preparing", "running", "publishing"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			a, s := load(t, "crash/slow")
			w := newWorld(t, a)
			first := w.startProcess()
			w.openIssue(a)
			w.trigger(s)
			w.awaitLog(first, state)
			first.kill()
			srv, _ := w.serve()
			v := w.final(srv, 90*time.Second)
			w.checkSolve(v, s)
			w.checkTexts(s, 0)
			w.checkOneOfEach()
		})
	}
}

// awaitTranscript waits until a run's transcript has that many messages, written
// so long ago that the commit which counts them is done, too.
func (w *world) awaitTranscript(messages int, limit time.Duration) {
	w.t.Helper()
	w.poll(limit, func() bool {
		files, _ := filepath.Glob(filepath.Join(w.dir, "store", "transcripts", "*", "*", "*.jsonl"))
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil || time.Since(info.ModTime()) < 700*time.Millisecond {
				continue
			}
			if data, err := os.ReadFile(f); err == nil && bytes.Count(data, []byte("\n")) >= messages {
				return true
			}
		}
		return false
	})
}

// awaitLog waits until the emulator or the file system shows that the state was reached.
func (w *world) awaitLog(p *process, state string) {
	w.t.Helper()
	w.poll(time.Minute, func() bool {
		switch state {
		case "preparing":
			return w.hub.Requests("POST", "/git/refs") > 0 // the claim branch
		case "running":
			found, _ := filepath.Glob(filepath.Join(w.dir, "store", "transcripts", "*"))
			return len(found) > 0
		default:
			return w.hub.Requests("POST", "/git/trees") > 0 // the champion's commit
		}
	})
}

// patience is by how much longer than on a quiet machine tests wait before they give up:
// many of them run side by side.
const patience = 12

// poll looks until ok or the limit, which is that of a quiet machine.
func (w *world) poll(limit time.Duration, ok func() bool) {
	w.t.Helper()
	limit *= patience
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			w.t.Fatalf("waited %s in vain", limit)
		}
	}
}

// checkOneOfEach counts what people see: one pull request, one claim, one
// progress and one final comment, one check run per name and commit, and
// nothing left on this machine.
func (w *world) checkOneOfEach() {
	w.t.Helper()
	if n := len(w.pulls()); n != 1 {
		w.t.Errorf("%d pull requests", n)
	}
	kinds := map[string]int{}
	for _, c := range w.ourComments() {
		if _, kind, ok := solve.FindMarker(c); ok {
			kinds[kind]++
		} else {
			w.t.Errorf("a comment without marker: %s", c)
		}
	}
	for kind, n := range kinds {
		if n != 1 {
			w.t.Errorf("%d comments of kind %s", n, kind)
		}
	}
	for key, n := range w.checkRuns() {
		if n != 1 {
			w.t.Errorf("%d check runs %s", n, key)
		}
	}
	w.poll(20*time.Second, func() bool { return len(w.leftovers()) == 0 })
}

// leftovers are the sandboxes and bases on disk.
func (w *world) leftovers() []string {
	var out []string
	filepath.WalkDir(w.cfg.Sandbox.Local.Dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "y-") {
			out = append(out, p)
			return filepath.SkipDir
		}
		return nil
	})
	return out
}
