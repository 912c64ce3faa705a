package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
)

// Ask stores a solve for this machine's own user, who needs no right on GitHub.
func (s *Server) Ask(ctx context.Context, owner, name string, number int, req solve.Request) error {
	h := api.AppReader{App: s.app}
	repo, err := h.Repo(ctx, owner, name)
	if err != nil {
		return err
	}
	issue, err := h.Issue(ctx, repo, number)
	if err != nil {
		return err
	}
	id := solve.ID(xid.New().String())
	wanted := api.NewSolve(id, repo, issue, req, "local:"+string(id))
	wanted.Trigger.Kind = solve.TriggerLocal
	_, _, err = s.store.Create(ctx, wanted)
	return err
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

// ModelSet is the set of the configured models.
func (c Config) ModelSet(getenv func(string) string) (*model.Set, error) {
	return model.NewSet(c.Models, getenv)
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

// SetEndpoint makes the named models those of an OpenAI-compatible server, as the whole matrix.
// The server gets OPENAI_API_KEY if that is set.
func (c *Config) SetEndpoint(url string, names []string, getenv func(string) string) {
	key := ""
	if getenv("OPENAI_API_KEY") != "" {
		key = "OPENAI_API_KEY"
	}
	c.Models.Models = nil
	for _, name := range names {
		c.Models.Models = append(c.Models.Models, model.Entry{Name: name, Provider: model.OpenAI, BaseURL: url, APIKeyEnv: key})
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

// Plan is the plan of a request in a repository without settings of its own.
func (c Config) Plan(req solve.Request, getenv func(string) string) (solve.Plan, error) {
	set, err := model.NewSet(c.Models, getenv)
	if err != nil {
		return solve.Plan{}, err
	}
	return c.plan(req, set.Names(), set.Temperature)
}

// PlanFor is the plan of a request for the models of published results, configured or
// not. Where the results tell no temperature, none makes a difference.
func (c Config) PlanFor(req solve.Request, results solve.Results) (solve.Plan, error) {
	rule := func(string) solve.TemperatureRule { return solve.TemperatureAccepted }
	if !results.Temperatures {
		c.Solver.Defaults.Temps = nil
		rule = func(string) solve.TemperatureRule { return solve.TemperatureIgnored }
	}
	return c.plan(req, results.Models, rule)
}

func (c Config) plan(req solve.Request, models []string, rule func(string) solve.TemperatureRule) (solve.Plan, error) {
	op := c.operator()
	if req.Profile != "" {
		_, p, ok := op.Rules.Profile(req.Profile)
		if !ok {
			return solve.Plan{}, fmt.Errorf("%s", op.Rules.UnknownProfile(req.Profile))
		}
		req = p.Fill(req)
	}
	return solve.Expand(req, c.Solver.Matrix(op.Rules, models, c.vocabulary().Agents), rule)
}
