package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
	"github.com/yudai-dev/yudai/solver"
)

// Doctor checks a machine, a configuration and its App. Nothing is changed.
type Doctor struct {
	Getenv func(string) string
	// Config is what was found when the configuration was read.
	Config Finding
	App    App
	// Sandbox is used with directories of the doctor's own.
	Sandbox drivers.Config
	Models  model.Config
	Gateway gateway.Config
	Solver  solver.Config
	// Agents are those that are configured or used, in order.
	Agents []Agent
	// Operator is what the configuration lets a repository's own file say.
	Operator repoconfig.Operator
	// Bundles is the directory of the key that signs bundles.
	Bundles string
	// Wrap is put around each driver, and Asked is told of each try of a call of a model; both may be nil.
	Wrap  func(sandbox.Driver) sandbox.Driver
	Asked func(name string, failed *model.Error)
	// SecretFiles are files that not every user of the machine may read.
	SecretFiles []string
}

// Agent is an agent whose program may be missing.
type Agent struct {
	Name  string
	Ready func() error
}

// Check yields what it finds, in the order in which a newcomer would mend it.
func (d *Doctor) Check(ctx context.Context) iter.Seq[Finding] {
	return inTurn(ctx, d.git, d.config, d.sandbox, d.models, d.agents, d.gateway, d.bundles, d.files, d.github)
}

// inTurn makes a check when the findings of the one before were taken.
func inTurn(ctx context.Context, checks ...func(context.Context) []Finding) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		for _, check := range checks {
			for _, f := range check(ctx) {
				if !yield(f) {
					return
				}
			}
		}
	}
}

func (d *Doctor) config(context.Context) []Finding { return []Finding{d.Config} }

func (d *Doctor) git(ctx context.Context) []Finding {
	if err := git.Check(ctx); err != nil {
		return []Finding{{Bad, "git", err.Error(), ""}}
	}
	return []Finding{{Good, "git", "new enough", ""}}
}

// sandbox tries every driver that the configuration uses.
func (d *Doctor) sandbox(ctx context.Context) []Finding {
	cfg := d.Sandbox
	dir, err := os.MkdirTemp("", "yudai-doctor-")
	if err != nil {
		return []Finding{{Bad, "sandbox", err.Error(), "make room in the temporary directory"}}
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	cfg.Local.Dir, cfg.Records, cfg.Docker.ProxyDir = dir, filepath.Join(dir, "records"), filepath.Join(dir, "proxies")
	set, err := drivers.NewSet(cfg, zerolog.Nop(), d.Wrap)
	if err != nil {
		return eachLine("sandbox", err, "set what is named above, or leave the driver out of sandbox.driver, choices and fallback")
	}
	var found []Finding
	for i, problem := range TryDrivers(ctx, set) {
		found = append(found, d.driver(set.Used()[i], set.All()[i].Traits(), problem)...)
	}
	return found
}

// driver says what one driver is, or why it cannot be used.
func (d *Doctor) driver(name string, t sandbox.Traits, problem error) []Finding {
	if problem != nil {
		fix := "see docs/drivers.md"
		if name == "local" && errors.Is(problem, sandbox.ErrLimit) {
			fix = "`yudai demo` and `yudai solve` accept weaker limits by themselves; `yudai serve` does not"
		}
		level, text := Bad, problem.Error()
		if !MustStop(d.Sandbox, name, problem) {
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

// models asks each model that can be used: only a call shows that its key is taken and its name known.
func (d *Doctor) models(ctx context.Context) []Finding {
	set, err := model.NewSet(d.Models, d.Getenv, model.WithObserver(d.Asked))
	if err != nil {
		return []Finding{{Bad, "models", err.Error(), "mend the section models"}}
	}
	wanted := map[string]bool{}
	for _, name := range d.Solver.Defaults.Models {
		wanted[name] = true
	}
	var found []Finding
	for _, name := range set.Names() {
		err := set.Ready(name)
		switch {
		case err == nil:
			found = append(found, asked(name, set.Ask(ctx, name), wanted[name]))
		case wanted[name]:
			found = append(found, Finding{Bad, "model", err.Error(), "set the key, or take the model out of solver.defaults.models"})
		}
	}
	return found
}

// asked is what a call of a model says; one that no solve uses by itself is only warned of.
func asked(name string, err error, wanted bool) Finding {
	switch {
	case err == nil:
		return Finding{Good, "model", name + " answers", ""}
	case wanted:
		return Finding{Bad, "model", err.Error(), "mend what is named, or take the model out of solver.defaults.models"}
	}
	return Finding{Warn, "model", err.Error(), "mend what is named before somebody asks for this model"}
}

// agents says what is missing on this machine.
func (d *Doctor) agents(context.Context) []Finding {
	var found []Finding
	for _, a := range d.Agents {
		if err := a.Ready(); err != nil {
			found = append(found, Finding{Bad, "agent", err.Error(), "mend it, or take " + a.Name + " out of solver.defaults.agents"})
			continue
		}
		found = append(found, Finding{Good, "agent", a.Name + " is here", ""})
	}
	return found
}

// gateway says how agents in sandboxes reach their models.
func (d *Doctor) gateway(context.Context) []Finding {
	set, err := model.NewSet(d.Models, d.Getenv)
	if err != nil {
		return nil // told already
	}
	g, err := gateway.New(d.Gateway, set, d.App.PublicURL, zerolog.Nop())
	if err != nil {
		return []Finding{{Bad, "gateway", err.Error(), "mend the section gateway"}}
	}
	_ = g.Close()
	switch {
	case g.PublicHost() == "" && d.App.PublicURL != "":
		return []Finding{{Good, "gateway", "by sockets in " + d.Gateway.Dir + "; agents in sandboxes elsewhere cannot " +
			"be let out to " + d.App.PublicURL + ": that takes a name and the usual port", ""}}
	case g.PublicHost() == "":
		return []Finding{{Good, "gateway", "by sockets in " + d.Gateway.Dir + "; agents in sandboxes elsewhere need server.public_url", ""}}
	case !strings.HasPrefix(d.App.PublicURL, "https://"):
		return []Finding{{Warn, "gateway", "agents in sandboxes elsewhere send their run's token to " + d.App.PublicURL + " in the clear",
			"set server.public_url to an https address"}}
	}
	return []Finding{{Good, "gateway", "by sockets in " + d.Gateway.Dir + ", from elsewhere at " + g.PublicHost(), ""}}
}

// bundles says which key signs, for those who check.
func (d *Doctor) bundles(context.Context) []Finding {
	key, err := bundle.ReadKey(d.Bundles)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{{Good, "bundles", "the key that signs them is made at the first start, in " + d.Bundles, ""}}
	case err != nil:
		return []Finding{{Bad, "bundles", err.Error(), "give the file back to this user"}}
	}
	return []Finding{{Good, "bundles", "signed by the key whose public half is " + bundle.PublicKeyFile(d.Bundles, key), ""}}
}

// files looks for secrets that every user of this machine can read.
func (d *Doctor) files(context.Context) []Finding {
	var found []Finding
	for _, name := range d.SecretFiles {
		if info, err := os.Stat(name); name != "" && err == nil && info.Mode().Perm()&0o004 != 0 {
			found = append(found, Finding{Warn, "secrets", "every user of this machine can read " + name, "chmod 600 " + name})
		}
	}
	return found
}

func (d *Doctor) github(ctx context.Context) []Finding {
	if d.App.Bare(d.Getenv) {
		return []Finding{{Bad, "github", "no GitHub App is configured (GITHUB_APP_INTEGRATION_ID, " +
			"GITHUB_APP_WEBHOOK_SECRET, GITHUB_APP_PRIVATE_KEY)",
			"`yudai setup` registers one in the browser; `yudai demo` and `yudai solve` need none"}}
	}
	secrets, err := Secrets(d.App.GitHub, d.Getenv)
	if err != nil {
		return eachLine("github", err, "`yudai demo` and `yudai solve` need no App")
	}
	app, err := ghapp.New(d.App.GitHub, secrets, ghapp.Options{})
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		var who ghapp.Identity
		if who, err = app.Identity(ctx); err == nil {
			found := appFindings(ctx, app, d.App.PublicURL, unanswered, func() Finding { return newestDeliveries(ctx, app) })
			return append([]Finding{{Good, "github", "App " + who.Slug + " answers", ""}}, found...)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("GitHub did not answer within 15 s")
	}
	return []Finding{{Bad, "github", err.Error(), "check github.v3_api_url, the App id and its private key"}}
}

// newestDeliveries says whether the newest webhooks reached a server.
func newestDeliveries(ctx context.Context, app *ghapp.App) Finding {
	all, err := app.HookDeliveries(ctx, 20)
	if err != nil {
		return unanswered("deliveries", err)
	}
	return deliveriesOf(all)
}

// unanswered is a check that GitHub did not answer.
func unanswered(what string, err error) Finding {
	return Finding{Bad, what, "GitHub does not tell: " + ghapp.Redact(err.Error()), "ask again in a moment"}
}

// eachLine is a finding for each line of an error, with the fix at the last.
func eachLine(what string, err error, fix string) (found []Finding) {
	for line := range strings.Lines(err.Error()) {
		found = append(found, Finding{Bad, what, strings.TrimSpace(line), ""})
	}
	found[len(found)-1].Fix = fix
	return found
}
