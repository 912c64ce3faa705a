package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/setup"
)

// NewDoctor reads the configuration at path, as [Load] does, and returns the doctor for it. If it
// cannot be read, the doctor says so and checks the rest with the defaults.
func NewDoctor(path string, getenv func(string) string) *setup.Doctor {
	cfg, err := Load(path, getenv)
	read := setup.Finding{Level: setup.Good, What: "config", Text: path}
	switch {
	case err != nil:
		cfg = Default()
		read = setup.Finding{Level: setup.Bad, What: "config", Text: err.Error(),
			Fix: "mend the lines above; the rest is checked with the defaults"}
	case path == "":
		read.Text = ConfigFile + " in this directory"
		if _, err := os.Stat(ConfigFile); err != nil {
			read.Text = "built-in defaults (no " + ConfigFile + " here)"
		}
	}
	if len(cfg.Notices) > 0 {
		read = setup.Finding{Level: setup.Warn, What: "config", Text: strings.Join(cfg.Notices, "\n")}
	}
	d := &setup.Doctor{
		Getenv: getenv, Config: read, App: cfg.app(), Sandbox: cfg.Sandbox, Models: cfg.Models, Gateway: cfg.Gateway, Solver: cfg.Solver,
		Operator: cfg.operator(), Bundles: cfg.bundles(),
		SecretFiles: []string{
			cfg.GitHub.App.PrivateKeyFile, cfg.GitHub.App.WebhookSecretFile, cfg.Server.APITokenFile, cfg.Store.DSNFile, cfg.Sandbox.E2B.APIKeyFile,
			cfg.Sandbox.Prime.APIKeyFile, filepath.Join(cfg.Gateway.Dir, gateway.SecretFile),
			filepath.Join(cfg.bundles(), bundle.KeyFile),
		},
	}
	for _, m := range cfg.Models.Models {
		d.SecretFiles = append(d.SecretFiles, m.APIKeyFile)
	}
	names, have := slices.Clone(cfg.Solver.Defaults.Agents), cfg.agents(nil)
	if len(cfg.SWEAgent.Command) > 0 {
		names = append(names, "swe-agent")
	}
	for _, name := range slices.Compact(names) {
		if a, ok := have[name].(interface{ Ready() error }); ok {
			d.Agents = append(d.Agents, setup.Agent{Name: name, Ready: a.Ready})
		}
	}
	return d
}
