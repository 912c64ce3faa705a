package server

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/agent/sweagent"
	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/internal/strictyaml"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/sandbox/drivers"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/store/bolt"
)

// ConfigFile is read if no other file is named.
const ConfigFile = "config.yml"

// DefaultsYAML is the complete built-in configuration with the meaning of every key, as
// `yudai config --defaults` prints it. A test writes it from the comments in the code.
//
//go:embed defaults.yml
var DefaultsYAML string

// VariablePrefix begins the environment variables that set keys: YUDAI_SERVER_ADDRESS is server.address.
const VariablePrefix = "YUDAI_"

// maxConfig is how large a configuration file may be, in bytes.
const maxConfig = 1 << 20

// minToken is how many characters an API token must have: less can be guessed.
const minToken = 16

// Config is the whole configuration: each section belongs to the package that reads
// it. The comment above a field is the meaning of its key in docs/configuration.md.
type Config struct {
	// What listens, and for whom.
	Server Listen `yaml:"server"`
	// The GitHub App, and how it writes.
	GitHub ghapp.Config `yaml:"github"`
	// Where solves are stored, and for how long what belongs to them is kept.
	Store StoreConfig `yaml:"store"`
	// The models that experiments may use.
	Models model.Config `yaml:"models"`
	// How an issue is solved.
	Solver solver.Config `yaml:"solver"`
	// The agent mini, which asks the model for commands and runs them in the sandbox.
	Agent agent.Config `yaml:"agent"`
	// Agents that are separate programs. They live in the sandbox and call their model through the gateway, which holds the keys
	// and counts the money. docs/agents.md tells what each needs.
	Agents command.Config `yaml:"agents"`
	// The agent swe-agent: SWE-agent 1.1, which runs beside yudai and works on the sandbox from there. It is not part of yudai;
	// docs/agents.md tells how to install it.
	SWEAgent sweagent.Config `yaml:"swe_agent"`
	// How those agents reach their models (see docs/gateway.md). Each run has its own token and address, which work for its one
	// model, its limits and its time.
	Gateway gateway.Config `yaml:"gateway"`
	// Where the code of repositories and agents runs.
	Sandbox drivers.Config `yaml:"sandbox"`
	// Notices tell which keys of the file have no effect any more, one line each.
	Notices []string `yaml:"-"`
	// sources tell where the values of keys come from that are not the built-in ones.
	sources map[string]source `yaml:"-"`
}

// Listen is the section "server": what listens, and for whom.
type Listen struct {
	// Where the server listens, host:port; port 0 takes a free one. Webhooks arrive at /api/github/hook, and /docs describes the
	// REST API.
	Address string `yaml:"address"`
	// The URL at which people and GitHub reach this server, such as https://yudai.example.org; "" if there is none. Links use it,
	// and `yudai setup` and `yudai doctor` use it for the webhook.
	PublicURL string `yaml:"public_url"`
	// The label that asks for a solve when somebody puts it on an issue.
	Label string `yaml:"label"`
	// Whether a review that requests changes to a pull request of yudai starts a revision, as the comment /yudai revise does. A
	// revision is a solve and costs money. The reviewer needs write permission.
	ReviseOnReview bool `yaml:"revise_on_review"`
	// The environment variable that holds the token of the REST API, 16 characters or more. With the token one can ask for a solve
	// in every repository where the App is installed, and see the pages. Without a token the API is off, and the pages open only by
	// the link that is printed where the server is reached from this machine alone.
	APITokenEnv string `yaml:"api_token_env"`
	// A file that holds the token, read if the variable is empty; "" is none.
	APITokenFile string `yaml:"api_token_file"`
	// Whether Prometheus metrics are served at /metrics. They hold no names of repositories and no secrets, but do not let a proxy
	// publish them. Where server.address is not a loopback address, or server.public_url is set, they ask for the token of the REST API.
	Metrics bool `yaml:"metrics"`
	// A separate address for metrics, host:port. If it is set, /metrics is served there, with /healthz and /readyz, and not at
	// server.address; "" is none.
	MetricsAddress string `yaml:"metrics_address"`
	// How long open requests may take to end after the stop signal.
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout"`
}

// Default is the built-in configuration.
func Default() Config {
	return Config{
		Server: Listen{
			Address:         "127.0.0.1:8080",
			Label:           handlers.DefaultLabel,
			APITokenEnv:     "YUDAI_API_TOKEN",
			Metrics:         true,
			ShutdownTimeout: 15 * time.Second,
		},
		GitHub:   ghapp.DefaultConfig(),
		Store:    StoreConfig{Engine: engineBolt, DSNEnv: "YUDAI_STORE_DSN", Config: bolt.DefaultConfig()},
		Models:   model.DefaultConfig(),
		Solver:   solver.DefaultConfig(),
		Agent:    agent.DefaultConfig(),
		Agents:   command.DefaultConfig(),
		SWEAgent: sweagent.DefaultConfig(),
		Gateway:  gateway.DefaultConfig(),
		Sandbox:  drivers.DefaultConfig(),
	}
}

// Load reads the file at path over the defaults, then the environment over the file.
// An empty path means [ConfigFile], which may be missing; a file that is named must
// exist. The error is a [*strictyaml.Error] with everything that is wrong.
//
// The environment overrides every key by the variable that [strictyaml.Variable] names, and with less
// weight by GITHUB_WEB_URL, GITHUB_V3_API_URL and GITHUB_V4_API_URL, as go-githubapp names them. It fills in the servers of models, see
// [model.Config.Environment]; secrets are read when they are needed. An App that the
// set-up registered fills in what the file leaves open; see [Config.AppFile].
func Load(path string, getenv func(string) string) (Config, error) {
	named := path != ""
	if !named {
		path = ConfigFile
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxConfig {
		return Config{}, fmt.Errorf("read configuration: %s has %d bytes; %d are the most", path, info.Size(), maxConfig)
	}
	data, err := os.ReadFile(path)
	if err != nil && (named || !errors.Is(err, fs.ErrNotExist)) {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	cfg, err := Parse(path, data, getenv)
	if err != nil {
		return cfg, err
	}
	return cfg, cfg.adopt(getenv)
}

// Parse is [Load] for bytes; name stands for the file in problems.
func Parse(name string, data []byte, getenv func(string) string) (Config, error) {
	cfg := Default()
	p := strictyaml.Decode(data, &cfg, severalLines)
	for _, v := range []struct {
		name, key string
		into      *string
	}{
		{"GITHUB_WEB_URL", "github.web_url", &cfg.GitHub.WebURL},
		{"GITHUB_V3_API_URL", "github.v3_api_url", &cfg.GitHub.V3APIURL},
		{"GITHUB_V4_API_URL", "github.v4_api_url", &cfg.GitHub.V4APIURL},
	} {
		if value := getenv(v.name); value != "" {
			*v.into = value
			p.Override(v.key, v.name)
		}
	}
	p.Environment(&cfg, VariablePrefix, getenv, severalLines)
	cfg.Models.Environment(getenv, func(key, variable string) { p.Override("models."+key, variable) })
	if p.Has("models.models") && len(cfg.Models.Models) > 0 && !p.Has("solver.defaults.models") {
		cfg.Solver.Defaults.Models = cfg.Models.First(2)
	}
	for _, notice := range p.Retire("solver.tests.require_fix", "has no effect any more: remove it. "+
		"A test that fails before and after decides nothing; docs/decisions/0036-what-a-test-proves.md tells what does") {
		cfg.Notices = append(cfg.Notices, notice.In(name))
	}
	cfg.Validate(p.Report)
	if err := p.Err(name); err != nil {
		return cfg, err
	}
	cfg.noteSources(sourceIn(name, p), "the first of models.models")
	return cfg, nil
}

// severalLines says which texts are prompts or shell commands, which may have them.
func severalLines(path string) bool {
	if strings.HasPrefix(path, "agents.commands.") {
		return strings.HasSuffix(path, ".shell") || strings.HasSuffix(path, ".install")
	}
	return strings.HasPrefix(path, "solver.strategies.") || path == "solver.tests.command" || path == "solver.tests.install"
}

// Validate reports every value that cannot work, in every section, and what does
// not fit between sections; keys are whole dotted paths.
func (c Config) Validate(report func(key, problem string)) {
	in := func(section string) setting.Report {
		return func(key, problem string) { report(section+"."+key, problem) }
	}
	c.Server.validate(in("server"))
	c.GitHub.Validate(in("github"))
	c.Store.Validate(in("store"))
	c.Models.Validate(in("models"))
	c.Solver.Validate(in("solver"))
	c.Agent.Validate(in("agent"))
	c.Agents.Validate(in("agents"))
	c.SWEAgent.Validate(in("swe_agent"))
	c.Gateway.Validate(in("gateway"))
	c.Sandbox.Validate(in("sandbox"))
	c.checkProfiles(in("solver"))
	for i, w := range c.Solver.Waves {
		c.checkAxes(fmt.Sprintf("solver.waves.%d", i), w, report)
	}
	defaults := c.Solver.Defaults
	defaults.Strategies = nil // package solver has looked at them
	c.checkAxes("solver.defaults", defaults, report)
}

func (l Listen) validate(report setting.Report) {
	if _, port, err := net.SplitHostPort(l.Address); err != nil || !isPort(port) {
		report("address", fmt.Sprintf("%q is not host:port, like 127.0.0.1:8080 (port 0 takes a free one)", l.Address))
	}
	if l.PublicURL != "" {
		u, err := url.Parse(l.PublicURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			report("public_url", fmt.Sprintf("%q is not an http or https URL without user, query and fragment", l.PublicURL))
		}
	}
	report.Unless(strings.TrimSpace(l.Label) != "" && len(l.Label) <= 50, "label", "must be a label's name, 1 to 50 bytes")
	report.Unless(l.APITokenEnv == "" || solve.VariableName(l.APITokenEnv),
		"api_token_env", "must be the name of an environment variable, not the token itself")
	l.validateMetrics(report)
	report.Unless(l.ShutdownTimeout >= time.Millisecond, "shutdown_timeout", "must be at least 1ms")
}

func (l Listen) validateMetrics(report setting.Report) {
	if l.MetricsAddress == "" {
		return
	}
	if _, port, err := net.SplitHostPort(l.MetricsAddress); err != nil || !isPort(port) {
		report("metrics_address", fmt.Sprintf("%q is not host:port, like 127.0.0.1:9090 (port 0 takes a free one)", l.MetricsAddress))
	}
	report.Unless(l.Metrics, "metrics_address", "is set, and server.metrics is false: nothing would be served there")
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// APIToken finds the token of the REST API; it is empty if none is configured. A
// token file that cannot be read, or a token too short to be one, is an error.
func (l Listen) APIToken(getenv func(string) string, readFile func(string) ([]byte, error)) (ghapp.Secret, error) {
	token, source := "", ""
	if l.APITokenEnv != "" {
		token, source = strings.TrimSpace(getenv(l.APITokenEnv)), l.APITokenEnv
	}
	if token == "" && l.APITokenFile != "" {
		data, err := readFile(l.APITokenFile)
		if err != nil {
			return ghapp.Secret{}, fmt.Errorf("read server.api_token_file: %w", err)
		}
		token, source = strings.TrimSpace(string(data)), l.APITokenFile
		if token == "" {
			return ghapp.Secret{}, fmt.Errorf("read server.api_token_file: %s is empty", source)
		}
	}
	if token != "" && len(token) < minToken {
		return ghapp.Secret{}, fmt.Errorf("the API token in %s has %d characters; it must have %d or more", source, len(token), minToken)
	}
	if token == "" {
		return ghapp.Secret{}, nil
	}
	return ghapp.NewSecret(token), nil
}
