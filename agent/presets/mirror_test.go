package presets_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

// A lock file without hosts lets npm install from any mirror, and npm refuses a package
// whose content does not have the locked hash.
func TestInstallFromMirror(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("npm")
	require.Need(t, "npm", err)
	good := pack(t, "module.exports = 1")
	for name, served := range map[string][]byte{"same content": good, "other content": pack(t, "module.exports = 2")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := installFrom(t, mirror(t, served), integrity(good))
			switch same := name == "same content"; {
			case same && err != nil:
				t.Errorf("%v\n%s", err, out)
			case !same && (err == nil || !strings.Contains(out, "EINTEGRITY")):
				t.Errorf("installed all the same: %v\n%s", err, out)
			}
		})
	}
}

// pack is the archive of a package with one file.
func pack(t *testing.T, program string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, f := range []struct{ name, text string }{
		{"package/package.json", `{"name":"leaf","version":"1.0.0"}`}, {"package/index.js", program},
	} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func integrity(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// mirror serves the package "leaf" as a registry does, and returns its address.
func mirror(t *testing.T, archive []byte) string {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			_, _ = w.Write(archive)
			return
		}
		version := map[string]any{
			"name": "leaf", "version": "1.0.0",
			"dist": map[string]string{"tarball": server.URL + "/leaf/-/leaf-1.0.0.tgz", "integrity": integrity(archive)},
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "leaf", "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": version},
		})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// installFrom runs npm as a preset's install does, with a lock file that names only the hash.
func installFrom(t *testing.T, registry, hash string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"package.json": `{"name":"root","dependencies":{"leaf":"1.0.0"}}`,
		"package-lock.json": fmt.Sprintf(`{"name":"root","lockfileVersion":3,"requires":true,"packages":{
			"":{"name":"root","dependencies":{"leaf":"1.0.0"}},"node_modules/leaf":{"version":"1.0.0","integrity":%q}}}`, hash),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "npm", "ci", "--cache", filepath.Join(dir, ".cache"), "--registry", registry,
		"--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", "--fetch-retries", "0")
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+dir, "no_proxy=*", "NO_PROXY=*")
	out, err := c.CombinedOutput()
	return string(out), err
}
