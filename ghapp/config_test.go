package ghapp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/ghapp"
)

// testKey is made once, since making one takes a while. It is short, since every token costs a signature.
var testKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		panic(err)
	}
	return key
})

func testPEM() string {
	return string(pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(testKey()),
	}))
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func noFile(string) ([]byte, error) { return nil, errors.New("no such file") }

func TestDefaultConfigIsValid(t *testing.T) {
	t.Parallel()
	c := ghapp.DefaultConfig()
	c.Validate(func(key, problem string) { t.Errorf("%s: %s", key, problem) })
}

func TestValidateReportsEveryBadKey(t *testing.T) {
	t.Parallel()
	c := ghapp.Config{
		WebURL:   "github.com",
		V3APIURL: "https://user@api.github.com",
		V4APIURL: "ftp://api.github.com",
		App:      ghapp.AppConfig{IntegrationID: -1},
		Write: ghapp.WriteConfig{
			Interval: -1, PerHour: 9, ProgressEvery: -1,
			Timeout: 10 * time.Second, Lease: 19 * time.Second, ListLag: 29 * time.Second,
		},
		Recovery: ghapp.RecoveryConfig{Every: time.Millisecond, Window: time.Second, ScanEvery: -1},
	}
	var keys []string
	c.Validate(func(key, _ string) { keys = append(keys, key) })
	want := []string{
		"web_url", "v3_api_url", "v4_api_url", "app.integration_id", "write.interval",
		"write.progress_every", "write.per_hour", "write.lease", "write.settle",
		"heal.every", "heal.scan_every", "heal.window",
	}
	if d := cmp.Diff(want, keys); d != "" {
		t.Error(d)
	}
	c = ghapp.DefaultConfig()
	c.Write.Timeout, keys = 0, nil
	c.Validate(func(key, _ string) { keys = append(keys, key) })
	if d := cmp.Diff([]string{"write.timeout"}, keys); d != "" {
		t.Error(d)
	}
}

func TestResolveTakesEnvironmentThenFile(t *testing.T) {
	t.Parallel()
	key := testPEM()
	c := ghapp.DefaultConfig()
	c.App.IntegrationID = 7
	c.App.WebhookSecretFile = "/run/hook"
	c.App.PrivateKeyFile = "/run/key"
	files := func(name string) ([]byte, error) {
		switch name {
		case "/run/hook":
			return []byte("from-file\n"), nil
		case "/run/key":
			return []byte(key), nil
		}
		return nil, errors.New("no such file")
	}
	s, problems := c.Resolve(env(), files)
	if len(problems) != 0 || s.AppID != 7 || s.WebhookSecret.Reveal() != "from-file" {
		t.Errorf("from files: app %d, secret %q, problems %v", s.AppID, s.WebhookSecret.Reveal(), problems)
	}
	s, problems = c.Resolve(env(
		"GITHUB_APP_INTEGRATION_ID", " 12 ",
		"GITHUB_APP_WEBHOOK_SECRET", "from-env",
		"GITHUB_APP_PRIVATE_KEY", strings.ReplaceAll(key, "\n", `\n`),
	), noFile)
	if len(problems) != 0 || s.AppID != 12 || s.WebhookSecret.Reveal() != "from-env" {
		t.Errorf("from environment: app %d, secret %q, problems %v", s.AppID, s.WebhookSecret.Reveal(), problems)
	}
	if _, err := ghapp.New(c, s, ghapp.Options{}); err != nil {
		t.Errorf("resolved secrets do not make an App: %v", err)
	}
}

func TestResolveReportsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	wrongKey := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	withFile := ghapp.DefaultConfig()
	withFile.App.WebhookSecretFile = "/run/hook"
	for name, test := range map[string]struct {
		config ghapp.Config
		env    func(string) string
		files  func(string) ([]byte, error)
		want   []string
	}{
		"nothing set": {ghapp.DefaultConfig(), env(), noFile,
			[]string{"app.integration_id", "app.webhook_secret_env", "app.private_key_env"}},
		"bad integer and key": {ghapp.DefaultConfig(),
			env("GITHUB_APP_INTEGRATION_ID", "12x", "GITHUB_APP_WEBHOOK_SECRET", "s", "GITHUB_APP_PRIVATE_KEY", "no pem"), noFile,
			[]string{"app.integration_id", "app.private_key_env"}},
		"negative integer, key of another kind": {ghapp.DefaultConfig(),
			env("GITHUB_APP_INTEGRATION_ID", "-3", "GITHUB_APP_WEBHOOK_SECRET", "s", "GITHUB_APP_PRIVATE_KEY", wrongKey), noFile,
			[]string{"app.integration_id", "app.private_key_env"}},
		"secret of line ends only": {ghapp.DefaultConfig(),
			env("GITHUB_APP_INTEGRATION_ID", "3", "GITHUB_APP_WEBHOOK_SECRET", "\n", "GITHUB_APP_PRIVATE_KEY", testPEM()), noFile,
			[]string{"app.webhook_secret_env"}},
		"unreadable file": {withFile,
			env("GITHUB_APP_INTEGRATION_ID", "3", "GITHUB_APP_PRIVATE_KEY", testPEM()), noFile,
			[]string{"app.webhook_secret_file"}},
		"empty file": {withFile,
			env("GITHUB_APP_INTEGRATION_ID", "3", "GITHUB_APP_PRIVATE_KEY", testPEM()),
			func(string) ([]byte, error) { return []byte("\n"), nil },
			[]string{"app.webhook_secret_file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := test.config.Resolve(test.env, test.files)
			var keys []string
			for _, p := range problems {
				keys = append(keys, p.Key)
				if strings.Contains(p.Text, "PRIVATE KEY") {
					t.Errorf("the problem shows the key: %s", p.Text)
				}
			}
			if d := cmp.Diff(test.want, keys); d != "" {
				t.Errorf("%s\n%v", d, problems)
			}
		})
	}
}
