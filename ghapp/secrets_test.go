package ghapp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/ghapp"
)

// wrongKeys are what people put where the App's private key belongs, with a word of the answer.
func wrongKeys(t *testing.T) map[string]struct{ text, want string } {
	t.Helper()
	key := testPEM()
	block, _ := pem.Decode([]byte(key))
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	short, err := x509.MarshalECPrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	write := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	return map[string]struct{ text, want string }{
		"text":           {"hunter2", "it is not PEM"},
		"a file's name":  {"./app.private-key.pem", "private_key_file"},
		"absolute name":  {"/run/secrets/key", "private_key_file"},
		"public key":     {write("PUBLIC KEY", public), "it is a public key, not the private key"},
		"RSA public key": {write("RSA PUBLIC KEY", public), "public key, not the private key"},
		"certificate":    {write("CERTIFICATE", public), "it is a certificate"},
		"elliptic curve": {write("EC PRIVATE KEY", short), "not an RSA key"},
		"encrypted":      {write("ENCRYPTED PRIVATE KEY", []byte("x")), "passphrase"},
		"old encryption": {string(pem.EncodeToMemory(&pem.Block{
			Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}, Bytes: []byte("x"),
		})), "passphrase"},
		"SSH":          {write("OPENSSH PRIVATE KEY", []byte("x")), "SSH"},
		"cut off":      {key[:len(key)/2], "cut off"},
		"damaged":      {write("RSA PRIVATE KEY", block.Bytes[:100]), "damaged"},
		"no line ends": {strings.ReplaceAll(key, "\n", " "), "cut off or damaged"},
	}
}

func TestWrongPrivateKeysAreNamed(t *testing.T) {
	t.Parallel()
	c := ghapp.DefaultConfig()
	c.App.IntegrationID = 7
	for name, tt := range wrongKeys(t) {
		_, problems := c.Resolve(env("GITHUB_APP_WEBHOOK_SECRET", "s", "GITHUB_APP_PRIVATE_KEY", tt.text), noFile)
		if len(problems) != 1 || problems[0].Key != "app.private_key_env" {
			t.Errorf("%s: %+v", name, problems)
			continue
		}
		text := problems[0].Text
		if !strings.Contains(text, tt.want) || !strings.Contains(text, "GITHUB_APP_PRIVATE_KEY") {
			t.Errorf("%s: %s", name, text)
		}
		for _, part := range strings.Fields(tt.text) {
			if len(part) > 12 && strings.Contains(text, part) {
				t.Errorf("%s: the key is in the message: %s", name, text)
			}
		}
	}
}

func TestProblemsOfSecretsNameWhereTheyCameFrom(t *testing.T) {
	t.Parallel()
	c := ghapp.DefaultConfig()
	c.App.IntegrationID, c.App.PrivateKeyFile, c.App.WebhookSecretFile = 7, "/run/key", "/run/hook"
	for name, tt := range map[string]struct {
		key, hook error
		data      string
		want      []string
	}{
		"unreadable": {
			&fs.PathError{Op: "open", Path: "/run/key", Err: fs.ErrPermission}, &fs.PathError{Op: "open", Path: "/run/hook", Err: fs.ErrNotExist}, "",
			[]string{"app.webhook_secret_file: the webhook secret cannot be read: open /run/hook: file does not exist", "app.private_key_file: the private key cannot be read: open /run/key: permission denied"},
		},
		"blank": {nil, nil, " \t\n", []string{"app.webhook_secret_file: the webhook secret in /run/hook is blank", "app.private_key_file: the private key in /run/key cannot be used"}},
	} {
		_, problems := c.Resolve(env(), func(file string) ([]byte, error) {
			return []byte(tt.data), map[string]error{"/run/key": tt.key, "/run/hook": tt.hook}[file]
		})
		var all []string
		for _, p := range problems {
			all = append(all, p.Key+": "+p.Text)
		}
		if len(all) != len(tt.want) {
			t.Errorf("%s: %q", name, all)
			continue
		}
		for i, want := range tt.want {
			if !strings.HasPrefix(all[i], want) {
				t.Errorf("%s: %q, want %q", name, all[i], want)
			}
		}
	}
	_, problems := ghapp.DefaultConfig().Resolve(env("GITHUB_APP_INTEGRATION_ID", "7", "GITHUB_APP_WEBHOOK_SECRET", "  ", "GITHUB_APP_PRIVATE_KEY", testPEM()),
		func(string) ([]byte, error) { return nil, errors.New("no file is named") })
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "GITHUB_APP_WEBHOOK_SECRET is blank") {
		t.Errorf("a blank secret: %+v", problems)
	}
}

func TestClientSecretIsNeededWithItsID(t *testing.T) {
	t.Parallel()
	c := ghapp.DefaultConfig()
	c.App.ClientID = "Iv1.x"
	app := []string{"GITHUB_APP_INTEGRATION_ID", "7", "GITHUB_APP_WEBHOOK_SECRET", "s", "GITHUB_APP_PRIVATE_KEY", testPEM()}
	_, problems := c.Resolve(env(app...), nil)
	if len(problems) != 1 || problems[0].Key != "app.client_secret_env" || !strings.Contains(problems[0].Text, "set GITHUB_APP_CLIENT_SECRET or") {
		t.Errorf("without a client secret: %+v", problems)
	}
	secrets, problems := c.Resolve(env(append(app, "GITHUB_APP_CLIENT_SECRET", "hush")...), nil)
	if len(problems) > 0 || secrets.ClientSecret.Reveal() != "hush" {
		t.Errorf("%+v", problems)
	}
}
