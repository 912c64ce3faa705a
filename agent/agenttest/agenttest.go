// Package agenttest is the world of an agent's run, for tests of agents: a machine with
// the agent installed, a model that plays a script, and a store that outlives owners.
package agenttest

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model/fakeprovider"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/hostmachine"
	"github.com/yudai-dev/yudai/test/require"
	"github.com/yudai-dev/yudai/test/toolcache"
)

// Token is the run's at its gateway.
const Token = "yrt_0123456789abcdef0123456789abcdef"

// Sandbox is what a job needs of a sandbox.
type Sandbox interface {
	sandbox.Sandbox
	sandbox.Launcher
	Tree(ctx context.Context) (string, error)
}

// Machine is a fresh machine, without walls.
func Machine(t *testing.T) *hostmachine.Machine {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // a test's own directory has the test's name, with any character
	if err != nil {
		t.Fatal(err)
	}
	m, err := hostmachine.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Halt(context.Background()); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir) // what a command left running may still write there
	})
	return m
}

// Installed returns a directory that is for a machine's [agent.InstallDir], in which the
// agent's own install was run. What the test needs for it is named as for
// [require.Need]; with says which one of that the install finds.
func Installed(t *testing.T, need, name string, in agent.Installation, with []byte) string {
	t.Helper()
	var key []byte
	for _, f := range in.Files {
		key = append(key, f.Data...)
	}
	dir, err := toolcache.Dir(name, append(append(key, in.Command...), with...), func(dir string) error {
		for _, f := range in.Files {
			path := strings.Replace(f.Path, agent.InstallDir, dir, 1)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				return err
			}
		}
		_, err := toolcache.Run(t.Context(), dir, "bash", "-c", strings.ReplaceAll(in.Command, agent.InstallDir, dir))
		return err
	})
	require.Need(t, need, err)
	return dir
}

// With is a fresh machine on which that directory is [agent.InstallDir].
func With(t *testing.T, installed string) *hostmachine.Machine {
	t.Helper()
	m := Machine(t)
	if err := os.Symlink(installed, m.Host(agent.InstallDir)); err != nil {
		t.Fatal(err)
	}
	return m
}

// Played serves a script as the models' providers would.
func Played(t *testing.T, script string) http.Handler {
	t.Helper()
	s, err := scripted.Load([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return fakeprovider.Handler(func() (agent.Model, error) { return s.Model("m", solve.Experiment{}, agent.Price{}), nil })
}

// Store keeps what a run saves. The zero value is that of a run that did not begin.
type Store struct {
	mu       sync.Mutex
	lines    []byte
	progress solve.Progress
}

// Job is the run as its next owner gets it, with a minute for everything. No call is
// counted at its gateway, and none has failed.
func (s *Store) Job(task string, box Sandbox, url string, apis ...string) agent.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return agent.Job{
		Task: task, Name: "y-1-1-1", Sandbox: box, Tree: box.Tree,
		Limits: solve.Limits{RunTime: time.Minute, CommandTime: time.Minute},
		Gateway: &agent.GatewaySession{
			URL: url, Token: Token, Model: "m", APIs: apis,
			Usage: func() solve.Usage { return solve.Usage{} }, LastError: func() error { return nil },
		},
		Resume: bytes.Clone(s.lines), Progress: s.progress, Save: s.Save,
	}
}

// Save is for [agent.Job].
func (s *Store) Save(ctx context.Context, lines []byte, p solve.Progress) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.lines, s.progress = append(s.lines, lines...), p
	return nil
}

// Lines are the transcript.
func (s *Store) Lines() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.lines)
}

// Replace makes another transcript of it.
func (s *Store) Replace(lines []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = bytes.Clone(lines)
}

// Messages are those of the transcript.
func (s *Store) Messages() []agent.Message {
	messages, _ := agent.ReadTranscript(s.Lines())
	return messages
}
