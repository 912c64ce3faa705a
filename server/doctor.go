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
	return cfg.doctor(getenv, read)
}

// doctor is the doctor for a configuration that was read as the finding says.
func (c Config) doctor(getenv func(string) string, read setup.Finding) *setup.Doctor {
	if len(c.Notices) > 0 {
		read = setup.Finding{Level: setup.Warn, What: "config", Text: strings.Join(c.Notices, "\n")}
	}
	d := &setup.Doctor{
		Getenv: getenv, Config: read, App: c.app(), Sandbox: c.Sandbox, Models: c.Models, Gateway: c.Gateway, Solver: c.Solver,
		Operator: c.operator(), Bundles: c.bundles(),
		SecretFiles: []string{
			c.GitHub.App.PrivateKeyFile, c.GitHub.App.WebhookSecretFile, c.Server.APITokenFile, c.Store.DSNFile, c.Sandbox.E2B.APIKeyFile,
			c.Sandbox.Prime.APIKeyFile, filepath.Join(c.Gateway.Dir, gateway.SecretFile),
			filepath.Join(c.bundles(), bundle.KeyFile),
		},
	}
	for _, m := range c.Models.Models {
		d.SecretFiles = append(d.SecretFiles, m.APIKeyFile)
	}
	names, have := slices.Clone(c.Solver.Defaults.Agents), c.agents(nil)
	if len(c.SWEAgent.Command) > 0 {
		names = append(names, "swe-agent")
	}
	for _, name := range slices.Compact(names) {
		if a, ok := have[name].(interface{ Ready() error }); ok {
			d.Agents = append(d.Agents, setup.Agent{Name: name, Ready: a.Ready})
		}
	}
	return d
}
