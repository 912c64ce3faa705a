package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
)

// Level of a finding.
type Level int

// The levels: fine, works with a drawback, does not work.
const (
	Good Level = iota
	Warn
	Bad
)

// Finding is one line of the doctor.
type Finding struct {
	Level Level
	What  string
	Text  string
	Fix   string // what to do about it; "" if nothing
}

// Diagnose checks this machine and the configuration and yields what it finds,
// in the order in which a newcomer would mend it. Nothing is changed.
func Diagnose(ctx context.Context, path string, getenv func(string) string) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		d := doctor{ctx: ctx, getenv: getenv}
		for _, check := range []func() []Finding{d.git, func() []Finding { return d.config(path) }, d.sandbox, d.models, d.agents, d.gateway, d.files, d.github} {
			for _, f := range check() {
				if !yield(f) {
					return
				}
			}
		}
	}
}

type doctor struct {
	ctx    context.Context
	getenv func(string) string
	cfg    Config
}

func (d *doctor) git() []Finding {
	if err := git.Check(d.ctx); err != nil {
		return []Finding{{Bad, "git", err.Error(), ""}}
	}
	return []Finding{{Good, "git", "new enough", ""}}
}

func (d *doctor) config(path string) []Finding {
	cfg, err := Load(path, d.getenv)
	d.cfg = cfg
	if err != nil {
		d.cfg = Default()
		return []Finding{{Bad, "config", err.Error(), "mend the lines above; the rest is checked with the defaults"}}
	}
	where := path
	if where == "" {
		where = ConfigFile + " in this directory"
		if _, err := os.Stat(ConfigFile); err != nil {
			where = "built-in defaults (no " + ConfigFile + " here)"
		}
	}
	return []Finding{{Good, "config", where, ""}}
}

// sandbox tries every driver that the configuration uses.
func (d *doctor) sandbox() []Finding {
	cfg := d.cfg.Sandbox
	dir, err := os.MkdirTemp("", "yudai-doctor-")
	if err != nil {
		return []Finding{{Bad, "sandbox", err.Error(), "make room in the temporary directory"}}
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	cfg.Local.Dir, cfg.Records, cfg.Docker.ProxyDir = dir, filepath.Join(dir, "records"), filepath.Join(dir, "proxies")
	set, err := drivers.NewSet(cfg, zerolog.Nop(), nil)
	if err != nil {
		var found []Finding
		for line := range strings.Lines(err.Error()) {
			found = append(found, Finding{Bad, "sandbox", strings.TrimSpace(line), ""})
		}
		found[len(found)-1].Fix = "set what is named above, or leave the driver out of sandbox.driver, choices and fallback"
		return found
	}
	var found []Finding
	for i, problem := range tryDrivers(d.ctx, set) {
		found = append(found, d.driver(set.Used()[i], set.All()[i].Traits(), problem)...)
	}
	return found
}

// driver says what one driver is, or why it cannot be used.
func (d *doctor) driver(name string, t sandbox.Traits, problem error) []Finding {
	if problem != nil {
		fix := "see docs/drivers.md"
		if name == "local" && errors.Is(problem, sandbox.ErrLimit) {
			fix = "`yudai demo` and `yudai solve` accept weaker limits by themselves; `yudai serve` does not"
		}
		level, text := Bad, problem.Error()
		if !d.cfg.stops(name, problem) {
			level, text = Warn, name+" cannot be used now: "+text
		}
		return []Finding{{level, "sandbox", text, fix}}
	}
	fork := "fork by " + t.ForkHow
	if !t.Fork {
		fork = "no fork: every run is prepared by itself"
	}
	found := []Finding{{Good, "sandbox", fmt.Sprintf("%s: %s, %s", t.Name, t.Isolation, fork), ""}}
	for _, note := range t.Notes {
		found = append(found, Finding{Warn, "sandbox", note, ""})
	}
	return found
}

func (d *doctor) models() []Finding {
	set, err := model.NewSet(d.cfg.Models, d.getenv)
	if err != nil {
		return []Finding{{Bad, "models", err.Error(), "mend the section models"}}
	}
	wanted := map[string]bool{}
	for _, name := range d.cfg.Solver.Defaults.Models {
		wanted[name] = true
	}
	var found []Finding
	for _, name := range set.Names() {
		err := set.Ready(name)
		switch {
		case err == nil:
			found = append(found, Finding{Good, "model", name, ""})
		case wanted[name]:
			found = append(found, Finding{Bad, "model", err.Error(), "set the key, or take the model out of solver.defaults.models"})
		}
	}
	return found
}

// agents says what is missing on this machine for those that are configured or used.
func (d *doctor) agents() []Finding {
	var found []Finding
	have := d.cfg.agents()
	names := slices.Clone(d.cfg.Solver.Defaults.Agents)
	if len(d.cfg.SWEAgent.Command) > 0 {
		names = append(names, "swe-agent")
	}
	for _, name := range slices.Compact(names) {
		r, ok := have[name].(interface{ Ready() error })
		if !ok {
			continue
		}
		if err := r.Ready(); err != nil {
			found = append(found, Finding{Bad, "agent", err.Error(), "mend it, or take " + name + " out of solver.defaults.agents"})
			continue
		}
		found = append(found, Finding{Good, "agent", name + " is here", ""})
	}
	return found
}

// gateway says how agents in sandboxes reach their models.
func (d *doctor) gateway() []Finding {
	set, err := model.NewSet(d.cfg.Models, d.getenv)
	if err != nil {
		return nil // told already
	}
	g, err := gateway.New(d.cfg.Gateway, set, d.cfg.Server.PublicURL, zerolog.Nop())
	if err != nil {
		return []Finding{{Bad, "gateway", err.Error(), "mend the section gateway"}}
	}
	_ = g.Close()
	switch {
	case g.PublicHost() == "" && d.cfg.Server.PublicURL != "":
		return []Finding{{Good, "gateway", "by sockets in " + d.cfg.Gateway.Dir + "; agents in sandboxes elsewhere cannot be let out to " + d.cfg.Server.PublicURL + ": that takes a name and the usual port", ""}}
	case g.PublicHost() == "":
		return []Finding{{Good, "gateway", "by sockets in " + d.cfg.Gateway.Dir + "; agents in sandboxes elsewhere need server.public_url", ""}}
	case !strings.HasPrefix(d.cfg.Server.PublicURL, "https://"):
		return []Finding{{Warn, "gateway", "agents in sandboxes elsewhere send their run's token to " + d.cfg.Server.PublicURL + " in the clear", "set server.public_url to an https address"}}
	}
	return []Finding{{Good, "gateway", "by sockets in " + d.cfg.Gateway.Dir + ", from elsewhere at " + g.PublicHost(), ""}}
}

// files looks for secrets that every user of this machine can read.
func (d *doctor) files() []Finding {
	names := []string{d.cfg.GitHub.App.PrivateKeyFile, d.cfg.GitHub.App.WebhookSecretFile, d.cfg.Server.APITokenFile, d.cfg.Sandbox.E2B.APIKeyFile, d.cfg.Sandbox.Prime.APIKeyFile, filepath.Join(d.cfg.Gateway.Dir, gateway.SecretFile)}
	for _, m := range d.cfg.Models.Models {
		names = append(names, m.APIKeyFile)
	}
	var found []Finding
	for _, name := range names {
		if info, err := os.Stat(name); name != "" && err == nil && info.Mode().Perm()&0o004 != 0 {
			found = append(found, Finding{Warn, "secrets", "every user of this machine can read " + name, "chmod 600 " + name})
		}
	}
	return found
}

func (d *doctor) github() []Finding {
	if d.cfg.Bare(d.getenv) {
		return []Finding{{Bad, "github", "no GitHub App is configured (GITHUB_APP_INTEGRATION_ID, GITHUB_APP_WEBHOOK_SECRET, GITHUB_APP_PRIVATE_KEY)",
			"`yudai setup` registers one in the browser; `yudai demo` and `yudai solve` need none"}}
	}
	secrets, err := cfgSecrets(d.cfg, d.getenv)
	if err != nil {
		var found []Finding
		for line := range strings.Lines(err.Error()) {
			found = append(found, Finding{Bad, "github", strings.TrimSpace(line), ""})
		}
		found[len(found)-1].Fix = "`yudai demo` and `yudai solve` need no App"
		return found
	}
	app, err := ghapp.New(d.cfg.GitHub, secrets, ghapp.Options{})
	if err == nil {
		ctx, cancel := context.WithTimeout(d.ctx, 15*time.Second)
		defer cancel()
		var who ghapp.Identity
		if who, err = app.Identity(ctx); err == nil {
			return append([]Finding{{Good, "github", "App " + who.Slug + " answers", ""}}, d.standing(ctx, app)...)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("GitHub did not answer within 15 s")
	}
	return []Finding{{Bad, "github", err.Error(), "check github.v3_api_url, the App id and its private key"}}
}

// standing compares what GitHub has of the App with what yudai needs.
func (d *doctor) standing(ctx context.Context, app *ghapp.App) []Finding {
	unknown := func(what string, err error) Finding {
		return Finding{Bad, what, "GitHub does not tell: " + ghapp.Redact(err.Error()), "ask again in a moment"}
	}
	now, err := app.Status(ctx)
	if err != nil {
		return []Finding{unknown("rights", err)}
	}
	found := append(rightsOf(now), installsOf(now)...)
	has, err := app.HookURL(ctx)
	if err != nil {
		return append(found, unknown("webhook", err))
	}
	found = append(found, hookOf(has, d.cfg.Server.PublicURL))
	all, err := app.HookDeliveries(ctx, 20)
	if err != nil {
		return append(found, unknown("deliveries", err))
	}
	return append(found, deliveriesOf(all))
}
