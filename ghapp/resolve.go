package ghapp

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// integrationEnv is the name go-githubapp gives the override of the App's id.
const integrationEnv = "GITHUB_APP_INTEGRATION_ID"

// Secrets are what the App signs in with.
type Secrets struct {
	AppID         int64
	WebhookSecret Secret
	// PrivateKey is PEM.
	PrivateKey Secret
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
	s := Secrets{
		AppID: r.appID(c.App.IntegrationID),
		WebhookSecret: NewSecret(r.value("app.webhook_secret", "the webhook secret",
			c.App.WebhookSecretEnv, c.App.WebhookSecretFile)),
	}
	key := r.value("app.private_key", "the private key", c.App.PrivateKeyEnv, c.App.PrivateKeyFile)
	if !strings.Contains(key, "\n") { // one-line environment files write \n for a line end
		key = strings.ReplaceAll(key, `\n`, "\n")
	}
	if key != "" {
		if _, err := parseKey(key); err != nil {
			r.add("app.private_key", "the private key is no RSA key in PEM: "+err.Error())
		}
	}
	s.PrivateKey = NewSecret(key)
	return s, r.problems
}

type resolver struct {
	getenv   func(string) string
	readFile func(string) ([]byte, error)
	problems []Problem
}

func (r *resolver) add(key, text string) {
	r.problems = append(r.problems, Problem{Key: key, Text: text})
}

func (r *resolver) appID(configured int64) int64 {
	text := strings.TrimSpace(r.getenv(integrationEnv))
	if text == "" {
		if configured <= 0 {
			r.add("app.integration_id", "the App's id is missing: set github.app.integration_id or "+integrationEnv)
		}
		return configured
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		r.add("app.integration_id", integrationEnv+" must be the App's id, a positive number")
		return 0
	}
	return id
}

// value prefers the environment and falls back to the file. Line ends around
// it are not part of it: editors and shells add them.
func (r *resolver) value(key, what, env, file string) string {
	if env != "" {
		if v := strings.Trim(r.getenv(env), "\r\n"); v != "" {
			return v
		}
	}
	if file != "" {
		data, err := r.readFile(file)
		if err != nil {
			r.add(key+"_file", fmt.Sprintf("%s cannot be read: %v", what, err))
			return ""
		}
		if v := strings.Trim(string(data), "\r\n"); v != "" {
			return v
		}
		r.add(key+"_file", fmt.Sprintf("%s in %s is empty", what, file))
		return ""
	}
	fix := "set github." + key + "_file"
	if env != "" {
		fix = "set " + env + " or github." + key + "_file"
	}
	r.add(key+"_env", what+" is missing: "+fix)
	return ""
}

// parseKey reads PKCS#1, as GitHub issues keys, and PKCS#8, as tools convert them to.
func parseKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("no PEM block")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("neither PKCS#1 nor PKCS#8")
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("not an RSA key")
	}
	return key, nil
}
