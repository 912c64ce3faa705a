package ghapp

import (
	"fmt"
	"strconv"
	"strings"
)

// IntegrationEnv is the name go-githubapp gives the override of the App's id.
const IntegrationEnv = "GITHUB_APP_INTEGRATION_ID"

// Secrets are what the App signs in with.
type Secrets struct {
	AppID         int64
	WebhookSecret Secret
	// PrivateKey is PEM.
	PrivateKey Secret
	// ClientSecret signs people in; empty without a client ID.
	ClientSecret Secret
}

// Problem is one thing missing or wrong, by its key in the section "github".
type Problem struct {
	Key  string
	Text string
}

// Resolve reads the secrets from the environment and from files and returns all
// problems at once; the secrets are usable only if there are none. An empty
// webhook secret is refused: go-githubapp would then take unsigned webhooks.
func (c Config) Resolve(getenv func(string) string, readFile func(string) ([]byte, error)) (Secrets, []Problem) {
	r := resolver{getenv: getenv, readFile: readFile}
	s := Secrets{AppID: r.appID(c.App.IntegrationID)}
	secret, from := r.value("app.webhook_secret", "the webhook secret", c.App.WebhookSecretEnv, c.App.WebhookSecretFile)
	if secret != "" && strings.TrimSpace(secret) == "" {
		r.add(from.key, "the webhook secret in "+from.name+" is blank: anybody could guess it")
	}
	s.WebhookSecret = NewSecret(secret)
	key, from := r.value("app.private_key", "the private key", c.App.PrivateKeyEnv, c.App.PrivateKeyFile)
	if !strings.Contains(key, "\n") { // one-line environment files write \n for a line end
		key = strings.ReplaceAll(key, `\n`, "\n")
	}
	if key != "" {
		if _, err := parseKey(key); err != nil {
			r.add(from.key, "the private key in "+from.name+" cannot be used: "+err.Error())
		}
	}
	s.PrivateKey = NewSecret(key)
	if c.App.ClientID != "" {
		secret, _ := r.value("app.client_secret", "the client secret of github.app.client_id", c.App.ClientSecretEnv, c.App.ClientSecretFile)
		s.ClientSecret = NewSecret(secret)
	}
	return s, r.problems
}

// origin is where a secret was found: the key of the setting, and the variable or file it names.
type origin struct{ key, name string }

type resolver struct {
	getenv   func(string) string
	readFile func(string) ([]byte, error)
	problems []Problem
}

func (r *resolver) add(key, text string) {
	r.problems = append(r.problems, Problem{Key: key, Text: text})
}

func (r *resolver) appID(configured int64) int64 {
	text := strings.TrimSpace(r.getenv(IntegrationEnv))
	if text == "" {
		if configured <= 0 {
			r.add("app.integration_id", "the App's id is missing: set github.app.integration_id or "+IntegrationEnv)
		}
		return configured
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		r.add("app.integration_id", IntegrationEnv+" must be the App's id, a positive number")
		return 0
	}
	return id
}

// value prefers the environment and falls back to the file. Line ends around
// it are not part of it: editors and shells add them.
func (r *resolver) value(key, what, env, file string) (string, origin) {
	if env != "" {
		if v := strings.Trim(r.getenv(env), "\r\n"); v != "" {
			return v, origin{key + "_env", env}
		}
	}
	if file != "" {
		data, err := r.readFile(file)
		if err != nil {
			r.add(key+"_file", fmt.Sprintf("%s cannot be read: %v", what, err))
			return "", origin{}
		}
		if v := strings.Trim(string(data), "\r\n"); v != "" {
			return v, origin{key + "_file", file}
		}
		r.add(key+"_file", fmt.Sprintf("%s in %s is empty", what, file))
		return "", origin{}
	}
	fix := "set github." + key + "_file"
	if env != "" {
		fix = "set " + env + " or github." + key + "_file"
	}
	r.add(key+"_env", what+" is missing: "+fix)
	return "", origin{}
}
