package ghapp

import (
	"net/url"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Config is the section "github" of config.yml.
type Config struct {
	// WebURL is where people and git go, V3APIURL the REST API, V4APIURL GraphQL.
	// Enterprise Server: https://HOST, https://HOST/api/v3, https://HOST/api/graphql.
	WebURL   string         `yaml:"web_url"`
	V3APIURL string         `yaml:"v3_api_url"`
	V4APIURL string         `yaml:"v4_api_url"`
	App      AppConfig      `yaml:"app"`
	Write    WriteConfig    `yaml:"write"`
	Recovery RecoveryConfig `yaml:"heal"`
}

// RecoveryConfig says how often what was missed is looked for.
type RecoveryConfig struct {
	// Every is the time between two looks at GitHub's delivery log and at our own
	// progress comments; 0 heals nothing at all.
	Every time.Duration `yaml:"every"`
	// Window is how far back the first look at the delivery log goes. GitHub keeps three days.
	Window time.Duration `yaml:"window"`
	// ScanEvery is the time between two walks through all repositories, for labels and
	// branches; 0 makes none.
	ScanEvery time.Duration `yaml:"scan_every"`
}

// AppConfig names the App and where its secrets are found. The environment
// wins over the file.
type AppConfig struct {
	// IntegrationID is the App's id; GITHUB_APP_INTEGRATION_ID overrides it.
	IntegrationID     int64  `yaml:"integration_id"`
	WebhookSecretEnv  string `yaml:"webhook_secret_env"`
	WebhookSecretFile string `yaml:"webhook_secret_file"`
	PrivateKeyEnv     string `yaml:"private_key_env"`
	PrivateKeyFile    string `yaml:"private_key_file"`
}

// WriteConfig paces the writes of one installation and bounds each of them.
type WriteConfig struct {
	// Interval is the least time between two writes that people see; reactions do not
	// wait for it.
	Interval time.Duration `yaml:"interval"`
	// PerHour is the most writes of all kinds in any hour. GitHub allows about 500.
	PerHour int `yaml:"per_hour"`
	// ProgressEvery is the least time between two edits of one comment or check run.
	ProgressEvery time.Duration `yaml:"progress_every"`
	// ListLag is how long GitHub's lists may lag: only after it is a write of
	// unknown outcome looked up. Measured: a lag above it doubles comments.
	ListLag time.Duration `yaml:"settle"`
	// Lease is how long a claimed effect belongs to its writer.
	Lease time.Duration `yaml:"lease"`
	// Timeout bounds each request.
	Timeout time.Duration `yaml:"timeout"`
}

// DefaultConfig is for github.com.
func DefaultConfig() Config {
	return Config{
		WebURL:   "https://github.com",
		V3APIURL: "https://api.github.com",
		V4APIURL: "https://api.github.com/graphql",
		App: AppConfig{
			WebhookSecretEnv: "GITHUB_APP_WEBHOOK_SECRET",
			PrivateKeyEnv:    "GITHUB_APP_PRIVATE_KEY",
		},
		Write: WriteConfig{
			Interval:      2 * time.Second,
			PerHour:       400,
			ProgressEvery: 10 * time.Second,
			ListLag:       30 * time.Second,
			Lease:         30 * time.Second,
			Timeout:       10 * time.Second,
		},
		Recovery: RecoveryConfig{Every: 5 * time.Minute, Window: maxWindow, ScanEvery: 6 * time.Hour},
	}
}

// maxWindow is how long GitHub keeps its delivery log. Beyond what the store keeps of
// GUIDs (store.keep_deliveries) nothing may be asked for: it would be taken for missed.
const maxWindow = 72 * time.Hour

// Validate reports every bad value; key is the path inside the section. Secrets
// are checked by [Config.Resolve].
func (c Config) Validate(report func(key, problem string)) {
	for _, u := range []struct{ key, value string }{
		{"web_url", c.WebURL}, {"v3_api_url", c.V3APIURL}, {"v4_api_url", c.V4APIURL},
	} {
		if problem := badURL(u.value); problem != "" {
			report(u.key, problem)
		}
	}
	if c.App.IntegrationID < 0 {
		report("app.integration_id", "must be the App's id, a positive number")
	}
	for _, v := range []struct{ key, value string }{
		{"app.webhook_secret_env", c.App.WebhookSecretEnv}, {"app.private_key_env", c.App.PrivateKeyEnv},
	} {
		if v.value != "" && !solve.VariableName(v.value) {
			report(v.key, "must be the name of an environment variable, not the secret itself")
		}
	}
	c.Write.validate(report)
	c.Recovery.validate(report)
}

func (c RecoveryConfig) validate(report func(key, problem string)) {
	for _, d := range []struct {
		key   string
		value time.Duration
	}{{"heal.every", c.Every}, {"heal.scan_every", c.ScanEvery}} {
		if d.value != 0 && d.value < time.Second {
			report(d.key, "must be 0 or at least 1s")
		}
	}
	if c.Window < time.Minute || c.Window > maxWindow {
		report("heal.window", "must be 1m to 72h: GitHub keeps its delivery log for three days")
	}
}

func (c WriteConfig) validate(report func(key, problem string)) {
	if c.Timeout < time.Millisecond {
		report("write.timeout", "must be at least 1ms")
	}
	if c.Interval < 0 {
		report("write.interval", "must not be negative")
	}
	if c.ProgressEvery < 0 {
		report("write.progress_every", "must not be negative")
	}
	if c.PerHour < 10 || c.PerHour > 10_000_000 {
		report("write.per_hour", "must be 10 to 10000000")
	}
	if c.Lease < 2*c.Timeout {
		report("write.lease", "must be at least twice write.timeout: a call must end before its claim does")
	}
	if c.ListLag < 3*c.Timeout {
		report("write.settle", "must be at least three times write.timeout: a lost call must have ended and be listed before it is looked up")
	}
}

func badURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return "must be an absolute http or https URL"
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return "must have no user, query or fragment"
	}
	return ""
}
