package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	bbolt "go.etcd.io/bbolt"
)

// TestServeSaysWhyItCannotOpenItsStore starts `yudai serve` on stores it must
// not touch: it ends at once, says what is wrong and what to do, and leaves the file as it is.
func TestServeSaysWhyItCannotOpenItsStore(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "crash/slow")
	w := newWorld(t, a)
	_, stop := w.serve() // makes a store
	for _, c := range []struct {
		name  string
		spoil func()
		words []string
	}{
		{"in use", func() {}, []string{"another yudai uses", "store.path", "process"}},
		{"newer", func() {
			stop()
			db, err := bbolt.Open(w.cfg.Store.Path, 0o600, nil)
			w.must(err)
			w.must(db.Update(func(b *bbolt.Tx) error { return b.Bucket([]byte("meta")).Put([]byte("schema"), []byte("99")) }))
			w.must(db.Close())
		}, []string{"layout 99", "up to ", "newer yudai", "store.path"}},
		{"damaged", func() { w.must(os.Truncate(w.cfg.Store.Path, 20_000)) }, []string{"damaged", "restore a backup"}},
	} {
		c.spoil()
		before, err := os.ReadFile(w.cfg.Store.Path)
		w.must(err)
		text, code := w.serveInVain()
		if code != 2 {
			t.Errorf("%s: exit code %d", c.name, code)
		}
		for _, word := range append(c.words, w.cfg.Store.Path) {
			if !strings.Contains(text, word) {
				t.Errorf("%s: %q is not said:\n%s", c.name, word, text)
			}
		}
		if strings.Contains(text, "goroutine ") {
			t.Errorf("%s: a stack is shown:\n%s", c.name, text)
		}
		after, err := os.ReadFile(w.cfg.Store.Path)
		w.must(err)
		if string(before) != string(after) && c.name != "in use" {
			t.Errorf("%s: the file changed", c.name)
		}
	}
}

// serveInVain runs `yudai serve` to its end.
func (w *world) serveInVain() (stderr string, code int) {
	w.t.Helper()
	data, err := yaml.Marshal(w.cfg)
	w.must(err)
	path := filepath.Join(w.dir, "config.yml")
	w.must(os.WriteFile(path, data, 0o600))
	exe, err := os.Executable()
	w.must(err)
	cmd := exec.CommandContext(w.t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	for k, v := range w.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.CombinedOutput()
	if err == nil {
		w.t.Fatalf("serve ended well:\n%s", out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
