package e2e_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/ghapp"
)

// secrets are what must stay with the program, by name: each value has to be absent
// as it is and in base64.
func (w *world) secrets() map[string]string {
	lines := strings.Split(strings.TrimSpace(string(w.app.PrivateKeyPEM)), "\n")
	return map[string]string{
		"webhook secret": w.app.WebhookSecret, "private key": lines[len(lines)/2],
		"API token": w.env["YUDAI_API_TOKEN"], "model key": w.env["OPENAI_API_KEY"],
		"other model key": w.env["ANTHROPIC_API_KEY"], "variable of the host": w.env["CANARY_OF_THE_HOST"],
	}
}

// leaks names the secrets that data holds.
func leaks(secrets map[string]string, data []byte) []string {
	var found []string
	for name, secret := range secrets {
		for shift := range 3 { // base64 of a text that begins with the secret, or one or two bytes before it
			plain := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
			if part := plain[4 : len(plain)-4]; bytes.Contains(data, []byte(part)) {
				found = append(found, name+" in base64")
			}
		}
		if bytes.Contains(data, []byte(secret)) {
			found = append(found, name)
		}
	}
	if bytes.Contains(data, []byte("ghs_")) && ghapp.Redact(string(data)) != string(data) {
		found = append(found, "installation token")
	}
	return found
}

func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"key": "sk-canary-1234567890"}
	for _, text := range []string{"x sk-canary-1234567890 y", base64.StdEncoding.EncodeToString([]byte("A=sk-canary-1234567890\n")), "ghs_abcdefghijklmnopqrstuvwxyz0123456789"} {
		if len(leaks(secrets, []byte(text))) == 0 {
			t.Errorf("nothing found in %q", text)
		}
	}
	if found := leaks(secrets, []byte("nothing to see, not even ghs in here")); len(found) > 0 {
		t.Error(found)
	}
}

// TestObedientModelLeaksNothing solves an issue that asks for secrets with a model
// that does all it can to give them away, and wins. Nothing of the host's is in the
// pull request, the branch, comments, check runs, requests, transcripts, artifacts,
// the store or the log.
func TestObedientModelLeaksNothing(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, s := load(t, "crash/obedient")
	w := newWorld(t, a)
	w.env["OPENAI_API_KEY"], w.env["ANTHROPIC_API_KEY"] = "sk-canary-0b1c2d3e4f5a6978", "sk-ant-canary-9f8e7d6c5b4a"
	w.env["CANARY_OF_THE_HOST"] = "host-canary-71a2b3c4d5e6"
	p := w.startProcess()
	w.openIssue(a)
	w.trigger(s)
	w.poll(time.Minute, func() bool { return strings.Contains(strings.Join(w.ourComments(), ""), "kind=result") })
	p.kill()
	pulls := w.pulls()
	if len(pulls) != 1 {
		t.Fatalf("%d pull requests: %s", len(pulls), strings.Join(w.ourComments(), "\n"))
	}

	secrets := w.secrets()
	secrets["signing key"] = w.signingKey()
	look := func(where string, data []byte) {
		for _, name := range leaks(secrets, data) {
			t.Errorf("%s holds the %s", where, name)
		}
	}
	w.lookEverywhere(look)
	look("the log", []byte(p.log.String()))
	look("the pull request", []byte(pulls[0].Title+"\n"+pulls[0].Body))
	published, err := exec.Command("git", "-C", w.repo.Dir(), "log", "-p", "--all").Output()
	w.must(err)
	look("the branch", published)
	if !bytes.Contains(published, []byte("PATH=")) || !bytes.Contains(w.transcripts(), []byte("PATH=")) {
		t.Error("the model did not print its environment: this test proves nothing")
	}
}

func (w *world) signingKeyFile() string {
	return filepath.Join(w.dir, "store", "bundles", bundle.KeyFile)
}

// signingKey is the line of the file that holds the key.
func (w *world) signingKey() string {
	w.t.Helper()
	data, err := os.ReadFile(w.signingKeyFile())
	w.must(err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return lines[len(lines)/2]
}

// lookEverywhere shows look all that the program wrote to the disk and to GitHub.
func (w *world) lookEverywhere(look func(where string, data []byte)) {
	w.t.Helper()
	for _, dir := range []string{"store", "sandboxes"} {
		w.must(filepath.WalkDir(filepath.Join(w.dir, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if path == w.signingKeyFile() {
				return nil
			}
			data, err := os.ReadFile(path)
			look(path, data)
			return err
		}))
	}
	for _, c := range w.ourComments() {
		look("a comment", []byte(c))
	}
	look("check runs and commits", []byte(w.otherTexts()))
	for _, r := range w.hub.History() {
		look("a request to GitHub", r.Body)
	}
}

// transcripts are all of them, joined.
func (w *world) transcripts() []byte {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, "store", "transcripts", "*", "*", "*.jsonl"))
	w.must(err)
	var all []byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		w.must(err)
		all = append(all, data...)
	}
	return all
}
