package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/test/localtest"
)

// TestTokenPlacesAreHidden: what of this machine's programs is shown has no place where a
// package manager keeps a token.
func TestTokenPlacesAreHidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, p := range []string{"local/etc/npmrc", "etc/npmrc", "local/cargo/credentials.toml", "lib64/pip.conf", "bin/tool", "local/apache-maven-3.9/conf/settings.xml", "share/maven/conf/settings.xml", "lib64/node_modules/npm/npmrc", "local/bundle/config"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, p), []byte("token"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := t.TempDir() // is not shown
	if err := errors.Join(os.WriteFile(filepath.Join(elsewhere, "pip.conf"), nil, 0o644),
		os.Symlink(elsewhere, filepath.Join(dir, "local/lib")), os.Symlink("lib64", filepath.Join(dir, "lib")), os.Symlink("etc/npmrc", filepath.Join(dir, "local/.npmrc"))); err != nil {
		t.Fatal(err)
	}
	args := local.MaskArgs(dir, "/opt/x")
	for _, want := range []string{"/opt/x/local/etc", "/opt/x/etc", "/opt/x/local/cargo/credentials.toml", "/opt/x/lib64/pip.conf",
		"/opt/x/local/apache-maven-3.9/conf/settings.xml", "/opt/x/share/maven/conf/settings.xml", "/opt/x/lib64/node_modules/npm/npmrc", "/opt/x/local/bundle/config",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is not hidden: %q", want, args)
		}
	}
	if text := strings.Join(args, " "); strings.Contains(text, "/opt/x/bin") || strings.Contains(text, "local/lib") || strings.Contains(text, "etc/npmrc") || strings.Contains(text, dir) {
		t.Errorf("hidden: %q", args)
	}
}

// TestTokenPlacesInARealSandbox: nothing is read there, and nothing can be written.
func TestTokenPlacesInARealSandbox(t *testing.T) {
	t.Parallel()
	sb := localtest.Open(t, sandbox.Spec{Name: "masks"})
	out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{Dir: "/", Shell: `
		for d in /usr/etc /usr/local/etc /usr/local/var; do
			test ! -d $d || { find $d -mindepth 1; touch $d/x 2>/dev/null && echo written; }
		done
		ls /etc/maven/settings* /usr/share/maven/conf/settings.xml 2>/dev/null
		if command -v mvn >/dev/null; then
			cd /tmp && echo '<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId><version>1</version><packaging>pom</packaging></project>' >pom.xml
			{ mvn -B -o validate && mvn -B -o -gs /etc/settings.xml validate; } >out 2>&1 || cat out
		fi
		true`})
	if err != nil || res.ExitCode != 0 || out != "" {
		t.Errorf("%v, exit %d: %s", err, res.ExitCode, out)
	}
}
