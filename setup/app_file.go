package setup

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

// Settings are the keys of config.yml that the set-up finds out.
type Settings struct {
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
			ClientID          string `yaml:"client_id,omitempty"`
			ClientSecretFile  string `yaml:"client_secret_file,omitempty"`
		} `yaml:"app"`
	} `yaml:"github"`
}

// App is the part of a configuration that the set-up reads and fills in.
type App struct {
	Dir       string // of the store; the files of the set-up lie there
	PublicURL string
	GitHub    ghapp.Config
}

func (a App) secretFile(name string) string { return filepath.Join(a.Dir, secretsDir, name) }

// File is the file in which the set-up keeps the App that it registered.
func (a App) File() string { return filepath.Join(a.Dir, appFile) }

// Named says whether the configuration or the environment names an App itself.
func (a App) Named(getenv func(string) string) bool {
	return a.GitHub.App.IntegrationID != 0 || a.GitHub.App.PrivateKeyFile != "" || a.GitHub.App.WebhookSecretFile != "" ||
		strings.TrimSpace(getenv(ghapp.IntegrationEnv)) != ""
}

// Bare says that no App is configured at all, not even in part: the time for the set-up.
func (a App) Bare(getenv func(string) string) bool {
	set := func(name string) bool { return name != "" && getenv(name) != "" }
	return !a.Named(getenv) && !set(a.GitHub.App.PrivateKeyEnv) && !set(a.GitHub.App.WebhookSecretEnv)
}

// Read reads what an earlier set-up wrote; the problems are nil if there was none. The
// settings hold only if there are no problems.
func (a App) Read() (Settings, *strictyaml.Problems, error) {
	var s Settings
	data, err := os.ReadFile(a.File())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	if err != nil {
		return s, nil, fmt.Errorf("read what the set-up wrote: %w", err)
	}
	return s, strictyaml.Decode(data, &s, func(string) bool { return false }), nil
}

// Take fills in the App of the settings. Addresses are filled in where they are at their default.
func (a *App) Take(s Settings) {
	from := func(name string) string {
		if name == "" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(a.Dir, name)
	}
	g, builtIn := &a.GitHub, ghapp.DefaultConfig()
	g.App.IntegrationID = s.GitHub.App.IntegrationID
	g.App.PrivateKeyFile = from(s.GitHub.App.PrivateKeyFile)
	g.App.WebhookSecretFile = from(s.GitHub.App.WebhookSecretFile)
	if g.App.ClientID == "" {
		g.App.ClientID, g.App.ClientSecretFile = s.GitHub.App.ClientID, from(s.GitHub.App.ClientSecretFile)
	}
	if g.WebURL == builtIn.WebURL && g.V3APIURL == builtIn.V3APIURL && g.V4APIURL == builtIn.V4APIURL {
		g.WebURL, g.V3APIURL, g.V4APIURL = s.GitHub.WebURL, s.GitHub.V3APIURL, s.GitHub.V4APIURL
	}
	if a.PublicURL == "" {
		a.PublicURL = s.Server.PublicURL
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
func (a App) write(s Settings, name string) error {
	text, err := yaml.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode %s: %w", appFile, err)
	}
	head := fmt.Sprintf("# The GitHub App %q, registered by yudai's set-up. The keys are those of\n"+
		"# config.yml; relative names of files start here. It is not read if config.yml or\n"+
		"# GITHUB_APP_INTEGRATION_ID name an App.\n", name)
	return keep(a.File(), append([]byte(head), text...))
}

// ForgetAnswer removes GitHub's answer if a set-up was killed after its last step: what
// is in it has its place.
func (a App) ForgetAnswer() error {
	if _, err := os.Stat(a.File()); err != nil {
		return nil //nolint:nilerr // no set-up was finished here
	}
	if err := os.Remove(a.secretFile(conversion)); err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// Secrets resolves every secret, or reports all that are missing or wrong.
func Secrets(cfg ghapp.Config, getenv func(string) string) (ghapp.Secrets, error) {
	secrets, problems := cfg.Resolve(getenv, os.ReadFile)
	var all []error
	for _, p := range problems {
		all = append(all, fmt.Errorf("github.%s: %s", p.Key, p.Text))
	}
	return secrets, errors.Join(all...)
}
