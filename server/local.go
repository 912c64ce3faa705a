package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
)

// LocalRepo is a person's own repository on this machine.
type LocalRepo struct {
	Root   string // absolute
	Branch string // the branch that is checked out
	SHA    string // its commit
}

// OpenLocal looks at the repository at path without changing anything.
func OpenLocal(ctx context.Context, path string) (LocalRepo, error) {
	l, err := git.Local(ctx, path)
	if err != nil {
		return LocalRepo{}, err
	}
	return LocalRepo{Root: l.Root, Branch: l.Branch, SHA: l.SHA}, nil
}

// Fetch brings a branch from another repository in as a local branch and
// touches nothing else.
func (r LocalRepo) Fetch(ctx context.Context, from, branch string) error {
	return git.FetchInto(ctx, r.Root, from, branch)
}

// Ask stores a solve for this machine's own user, who needs no right on GitHub.
func (s *Server) Ask(ctx context.Context, owner, name string, number int, req solve.Request) (solve.Solve, error) {
	h := api.AppReader{App: s.app}
	repo, err := h.Repo(ctx, owner, name)
	if err != nil {
		return solve.Solve{}, err
	}
	issue, err := h.Issue(ctx, repo, number)
	if err != nil {
		return solve.Solve{}, err
	}
	id := solve.ID(xid.New().String())
	wanted := api.NewSolve(id, repo, issue, req, "local:"+string(id))
	wanted.Trigger.Kind = solve.TriggerLocal
	stored, _, err := s.store.Create(ctx, wanted)
	return stored, err
}

// Configured says whether the repository has settings of its own.
func (r LocalRepo) Configured() bool {
	_, err := os.Stat(filepath.Join(r.Root, filepath.FromSlash(solve.RepoConfigFile)))
	return err == nil
}

// CheckRequest reports everything that is wrong with a request of this machine's
// own user before anything is started: unknown names, values out of range, models
// without their key. Keys are those of the request. configured says that the
// repository has settings of its own, which may have more names.
func (c Config) CheckRequest(r solve.Request, configured bool, getenv func(string) string, report func(key, problem string)) {
	unknown := map[string]bool{}
	words := c.vocabulary()
	if configured {
		words = c.openVocabulary()
	}
	words.Check(r, func(p handlers.Problem) {
		unknown[p.Word] = true
		key := p.Key
		if key == "time" {
			key = "budget"
		}
		report(key, plain(p))
	})
	set, err := model.NewSet(c.Models, getenv)
	if err != nil {
		report("models", err.Error())
		return
	}
	names := r.Models
	if len(names) == 0 {
		names = c.Solver.Defaults.Models
		if stop := cmp.Or(r.Stop, c.Solver.Stop); stop == solve.StopWaves {
			names = c.waveModels()
		}
	}
	for _, name := range names {
		if err := set.Ready(name); err != nil && !unknown[name] {
			report("models", err.Error())
		}
	}
}

// RemoveSandboxes ends and removes every sandbox below dir, which was the
// configuration's sandbox.local.dir: processes, control groups and files. Nothing
// else may use the directory any more.
func (c Config) RemoveSandboxes(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c.Sandbox.Driver, c.Sandbox.Local.Dir = "local", dir
	driver, err := drivers.New(c.Sandbox, zerolog.Nop())
	if err == nil {
		_, err = driver.Sweep(ctx, func(sandbox.Info) bool { return false })
	}
	if err != nil {
		return fmt.Errorf("remove the sandboxes below %s: %w", dir, err)
	}
	return nil
}

// SetScripted makes the named models play the script, as the whole matrix.
func (c *Config) SetScripted(script string, names []string) {
	c.Models.Models = nil
	for _, name := range names {
		c.Models.Models = append(c.Models.Models, model.Entry{Name: name, Provider: "scripted", Script: script})
	}
	c.Solver.Defaults.Models = names
}

// ScriptModels lists the models that a script has plays for.
func ScriptModels(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	script, err := scripted.Load(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var names []string
	for _, p := range script.Plays {
		if p.Match.Model != "" && !slices.Contains(names, p.Match.Model) {
			names = append(names, p.Match.Model)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no play names a model (match: {model: NAME})", path)
	}
	return names, nil
}

// TestFormat guesses how a test command reports.
func TestFormat(command string) string {
	if strings.HasPrefix(command, "go test ") {
		return "go"
	}
	return "exit"
}

// ParseBudget reads money, time or both ("$2", "20m", "$2,20m").
func ParseBudget(text string) (solve.Money, time.Duration, error) { return handlers.ParseBudget(text) }

// waveModels are the models of all waves.
func (c Config) waveModels() (out []string) {
	for _, w := range c.Solver.Waves {
		list := w.Models
		if len(list) == 0 {
			list = c.Solver.Defaults.Models
		}
		out = append(out, list...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
