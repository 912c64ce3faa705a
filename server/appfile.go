package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/internal/strictyaml"
)

// The files that the set-up writes, beside the store. config.yml is the operator's and
// is never touched.
const (
	appFile       = "app.yml"
	secretsDir    = "secrets"
	keyFile       = "github-app.pem"
	hookFile      = "webhook-secret"
	clientFile    = "client-secret"
	conversion    = "new-app.json"
	conversionBad = "new-app.unreadable.json"
)

// appSettings are the keys of config.yml that the set-up finds out.
type appSettings struct {
	Server struct {
		Address   string `yaml:"address,omitempty"`
		PublicURL string `yaml:"public_url"`
	} `yaml:"server"`
	GitHub struct {
		WebURL   string `yaml:"web_url"`
		V3APIURL string `yaml:"v3_api_url"`
		V4APIURL string `yaml:"v4_api_url"`
		App      struct {
			IntegrationID     int64  `yaml:"integration_id"`
			WebhookSecretFile string `yaml:"webhook_secret_file"`
			PrivateKeyFile    string `yaml:"private_key_file"`
		} `yaml:"app"`
	} `yaml:"github"`
}

// stateDir is where the set-up's files lie.
func (c Config) stateDir() string { return filepath.Dir(c.Store.Path) }

func (c Config) secretFile(name string) string { return filepath.Join(c.stateDir(), secretsDir, name) }

// AppFile is the file in which the set-up keeps the App it registered.
func (c Config) AppFile() string { return filepath.Join(c.stateDir(), appFile) }

// namesApp says whether the configuration or the environment name an App themselves.
func (c Config) namesApp(getenv func(string) string) bool {
	return c.GitHub.App.IntegrationID != 0 || c.GitHub.App.PrivateKeyFile != "" || c.GitHub.App.WebhookSecretFile != "" ||
		strings.TrimSpace(getenv(ghapp.IntegrationEnv)) != ""
}

// Bare says that no App is configured at all, not even in part: the time for the set-up.
func (c Config) Bare(getenv func(string) string) bool {
	return !c.namesApp(getenv) && !set(getenv, c.GitHub.App.PrivateKeyEnv) && !set(getenv, c.GitHub.App.WebhookSecretEnv)
}

func set(getenv func(string) string, name string) bool { return name != "" && getenv(name) != "" }

// adopt fills in the App that the set-up registered, unless the configuration names
// one itself; of the other keys it fills in what is at its default.
func (c *Config) adopt(getenv func(string) string) error {
	if c.namesApp(getenv) {
		return nil
	}
	data, err := os.ReadFile(c.AppFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what the set-up wrote: %w", err)
	}
	var s appSettings
	p := strictyaml.Decode(data, &s, func(string) bool { return false })
	if err := configError(c.AppFile(), p.Sorted()); err != nil {
		return err
	}
	c.take(s)
	c.Validate(p.Report)
	return configError(c.AppFile(), p.Sorted())
}

func (c *Config) take(s appSettings) {
	from := func(name string) string {
		if name == "" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(c.stateDir(), name)
	}
	c.GitHub.App.IntegrationID = s.GitHub.App.IntegrationID
	c.GitHub.App.PrivateKeyFile = from(s.GitHub.App.PrivateKeyFile)
	c.GitHub.App.WebhookSecretFile = from(s.GitHub.App.WebhookSecretFile)
	builtIn := Default()
	if c.GitHub.WebURL == builtIn.GitHub.WebURL && c.GitHub.V3APIURL == builtIn.GitHub.V3APIURL && c.GitHub.V4APIURL == builtIn.GitHub.V4APIURL {
		c.GitHub.WebURL, c.GitHub.V3APIURL, c.GitHub.V4APIURL = s.GitHub.WebURL, s.GitHub.V3APIURL, s.GitHub.V4APIURL
	}
	if c.Server.PublicURL == "" {
		c.Server.PublicURL = s.Server.PublicURL
	}
	if c.Server.Address == builtIn.Server.Address && s.Server.Address != "" {
		c.Server.Address = s.Server.Address
	}
}

// newApp is the file that holds GitHub's answer until everything in it has its place:
// the answer comes once, and a process that dies before must not lose the key.
type newApp struct {
	PublicURL string          `json:"public_url"`
	WebURL    string          `json:"web_url"`
	V3APIURL  string          `json:"v3_api_url"`
	V4APIURL  string          `json:"v4_api_url"`
	Answer    json.RawMessage `json:"answer"`
}

// writeAppFile is the last step: from here on the App is configured.
func (c Config) writeAppFile(s appSettings, name string) error {
	text, err := yaml.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode %s: %w", appFile, err)
	}
	head := fmt.Sprintf("# The GitHub App %q, registered by yudai's set-up. The keys are those of\n"+
		"# config.yml; relative names of files start here. It is not read if config.yml or\n"+
		"# GITHUB_APP_INTEGRATION_ID name an App.\n", name)
	return keep(c.AppFile(), append([]byte(head), text...))
}

// forgetAnswer removes GitHub's answer if a set-up was killed after its last step: what
// is in it has its place.
func (c Config) forgetAnswer() error {
	if _, err := os.Stat(c.AppFile()); err != nil {
		return nil //nolint:nilerr // no set-up was finished here
	}
	if err := os.Remove(c.secretFile(conversion)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what the set-up left: %w", err)
	}
	return nil
}

// keep replaces a file beside the store, readable by its owner only.
func keep(path string, data []byte) error {
	if err := durable.MakeDirs(filepath.Dir(path)); err != nil {
		return err
	}
	return durable.WriteFile(path, data)
}
