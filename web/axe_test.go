package web_test

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/yudai-dev/yudai/test/require"
	"github.com/yudai-dev/yudai/test/toolcache"
)

//go:embed testdata/axe/package.json
var axePackage []byte

//go:embed testdata/axe/package-lock.json
var axeLock []byte

// axeScript is the checker of accessibility, "" where there is no npm to get it with.
func axeScript(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil && !require.Needs("npm") {
		return ""
	}
	dir, err := toolcache.Dir("axe", axeLock, func(dir string) error {
		for name, data := range map[string][]byte{"package.json": axePackage, "package-lock.json": axeLock} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				return err
			}
		}
		_, err := toolcache.Run(t.Context(), dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// accessible fails for everything that axe finds wrong with the page.
func (b *browser) accessible(what string) {
	b.t.Helper()
	if b.axe == "" {
		return
	}
	const check = `axe.run().then((r) => r.violations.map((v) => v.id + ": " +
		v.nodes.slice(0, 3).map((n) => n.html.slice(0, 150) + " " + n.failureSummary).join("\n  ")).join("\n"))`
	found := ""
	b.do(chromedp.Evaluate(b.axe+";0", nil), chromedp.Evaluate(check, &found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithAwaitPromise(true)
	}))
	if found != "" {
		b.t.Errorf("%s: %s", what, found)
	}
}
