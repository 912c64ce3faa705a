package ghapp

import (
	"net/url"
	"time"

	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/solve"
)

// Config is the section "github" of config.yml.
type Config struct {
	// The address of GitHub for people and git. Enterprise Server: https://HOST.
	WebURL string `yaml:"web_url"`
	// The address of the REST API. Enterprise Server: https://HOST/api/v3.
	V3APIURL string `yaml:"v3_api_url"`
	// The address of the GraphQL API. Enterprise Server: https://HOST/api/graphql.
	V4APIURL string `yaml:"v4_api_url"`
	// The App and its secrets.
	App AppConfig `yaml:"app"`
	// How fast yudai writes comments, checks, branches and commits, for each installation. GitHub allows about 80 writes a minute
	// and 500 an hour, and bans Apps that exceed this for long.
	Write WriteConfig `yaml:"write"`
	// How yudai recovers what it missed: webhooks that never arrived, labels without a solve, progress comments that somebody
	// deleted, orphan branches.
	Recovery RecoveryConfig `yaml:"heal"`
	// Whether yudai signs the champion's commit with the key of its bundles, for who checks it offline (docs/bundle.md). GitHub
	// then shows the commit as "Unverified", and refuses to merge it where a rule requires signed commits. Otherwise GitHub signs it.
	SignCommits bool `yaml:"sign_commits"`
}

// RecoveryConfig says how often what was missed is looked for.
type RecoveryConfig struct {
	// How often yudai reads GitHub's delivery log and checks its progress comments, also at the start; 1s or more, 0 recovers
	// nothing.
	Every time.Duration `yaml:"every"`
	// How far back the first look at the delivery log goes, 1m to 72h: GitHub keeps three days. Later looks go back to the
	// previous one.
	Window time.Duration `yaml:"window"`
	// How often yudai scans all repositories for labelled issues without a solve and for orphan branches, also at the start; 1s or
	// more, 0 is never.
	ScanEvery time.Duration `yaml:"scan_every"`
}

// AppConfig names the App and where its secrets are found. The environment
// wins over the file.
type AppConfig struct {
	// The App's id, from its settings page; 0 is none. The variable GITHUB_APP_INTEGRATION_ID overrides it.
	IntegrationID int64 `yaml:"integration_id"`
	// The environment variable that holds the webhook's secret. Without a secret nothing starts.
	WebhookSecretEnv string `yaml:"webhook_secret_env"`
	// A file that holds the webhook's secret, read if the variable is empty; "" is none.
	WebhookSecretFile string `yaml:"webhook_secret_file"`
	// The environment variable that holds the App's private key in PEM; \n may stand for line ends.
	PrivateKeyEnv string `yaml:"private_key_env"`
	// A file that holds the private key, read if the variable is empty; "" is none.
	PrivateKeyFile string `yaml:"private_key_file"`
	// The App's client ID, from its settings page; "" is none. With it, and with server.public_url, people sign in to the pages with
	// GitHub. The App must name the callback URL: server.public_url with /signin/callback.
	ClientID string `yaml:"client_id"`
	// The environment variable that holds a client secret of the App. It is needed if client_id is set.
	ClientSecretEnv string `yaml:"client_secret_env"`
	// A file that holds the client secret, read if the variable is empty; "" is none.
	ClientSecretFile string `yaml:"client_secret_file"`
}

// WriteConfig paces the writes of one installation and bounds each of them.
type WriteConfig struct {
	// The shortest time between two writes. A reaction does not wait for it, and the parts of a commit wait for a quarter of it.
	Interval time.Duration `yaml:"interval"`
	// The most writes in any hour, 10 or more. A tenth of them may come at once.
	PerHour int `yaml:"per_hour"`
	// The shortest time between two updates of one comment or check run. Changes in between are merged into one update. While runs
	// work, a text that is older is written again in its turn (docs/operations.md).
	ProgressEvery time.Duration `yaml:"progress_every"`
	// How long GitHub's lists may lag behind a write; at least three times timeout. If the outcome of a write is unknown, yudai
	// waits this long before it looks the write up and perhaps repeats it.
	ListLag time.Duration `yaml:"settle"`
	// How long a write belongs to the process that took it; at least twice timeout.
	Lease time.Duration `yaml:"lease"`
	// The limit of each request to GitHub.
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
			ClientSecretEnv:  "GITHUB_APP_CLIENT_SECRET",
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
func (c Config) Validate(report setting.Report) {
	for _, u := range []struct{ key, value string }{
		{"web_url", c.WebURL}, {"v3_api_url", c.V3APIURL}, {"v4_api_url", c.V4APIURL},
	} {
		problem := badURL(u.value)
		report.Unless(problem == "", u.key, problem)
	}
	for _, v := range []struct{ key, value string }{
		{"app.webhook_secret_env", c.App.WebhookSecretEnv}, {"app.private_key_env", c.App.PrivateKeyEnv},
		{"app.client_secret_env", c.App.ClientSecretEnv},
	} {
		named := v.value == "" || solve.VariableName(v.value)
		report.Unless(named, v.key, "must be the name of an environment variable, not the secret itself")
	}
	w, r := c.Write, c.Recovery
	tooOften := func(d time.Duration) bool { return d != 0 && d < time.Second }
	for _, rule := range []struct {
		broken       bool
		key, problem string
	}{
		{c.App.IntegrationID < 0, "app.integration_id", "must be the App's id, a positive number"},
		{c.App.ClientSecretFile != "" && c.App.ClientID == "", "app.client_id",
			"must be set with app.client_secret_file: the App's settings page shows it"},
		{w.Timeout < time.Millisecond, "write.timeout", "must be at least 1ms"},
		{w.Interval < 0, "write.interval", "must not be negative"},
		{w.ProgressEvery < 0, "write.progress_every", "must not be negative"},
		{w.PerHour < 10 || w.PerHour > 10_000_000, "write.per_hour", "must be 10 to 10000000"},
		{w.Lease < 2*w.Timeout, "write.lease", "must be at least twice write.timeout: a call must end before its claim does"},
		{w.ListLag < 3*w.Timeout, "write.settle",
			"must be at least three times write.timeout: a lost call must have ended and be listed before it is looked up"},
		{tooOften(r.Every), "heal.every", "must be 0 or at least 1s"},
		{tooOften(r.ScanEvery), "heal.scan_every", "must be 0 or at least 1s"},
		{r.Window < time.Minute || r.Window > maxWindow, "heal.window", "must be 1m to 72h: GitHub keeps its delivery log for three days"},
	} {
		report.Unless(!rule.broken, rule.key, rule.problem)
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
