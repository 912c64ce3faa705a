package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPinnedVersions holds the versions that have to move together: these are
// the only releases of the three modules that share go-github v66, and the
// indirect ones are raised above known vulnerabilities.
func TestPinnedVersions(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(data), -1) {
		have[m[1]] = m[2]
	}
	for module, version := range map[string]string{
		"github.com/palantir/go-githubapp":           "v0.30.0",
		"github.com/google/go-github/v66":            "v66.0.0",
		"github.com/bradleyfalzon/ghinstallation/v2": "v2.12.0",
		"github.com/rs/zerolog":                      "v1.35.1",
		"go.etcd.io/bbolt":                           "v1.5.0",
		"github.com/gregjones/httpcache":             "v0.0.0-20190611155906-901d90724c79",
		"github.com/rcrowley/go-metrics":             "v0.0.0-20201227073835-cf1acfcdf475",
		"github.com/golang-jwt/jwt/v4":               "v4.5.2",
		"golang.org/x/net":                           "v0.62.0",
		"golang.org/x/oauth2":                        "v0.37.0",
		"golang.org/x/sys":                           "v0.49.0",
	} {
		if have[module] != version {
			t.Errorf("%s is %q, want %s", module, have[module], version)
		}
	}
}

// TestLockFilesNameNoHost: a lock file pins versions and hashes, and the installer's own
// settings say where packages come from. Otherwise a mirror is not asked.
func TestLockFilesNameNoHost(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		check := lockedHosts(d.Name())
		if d.IsDir() || check == nil {
			return nil
		}
		found++
		data, err := os.ReadFile(path)
		if err == nil {
			err = check(data)
		}
		if err != nil {
			t.Errorf("%s: %v; for npm, make it with --omit-lockfile-registry-resolved", path, err)
		}
		return nil
	})
	if err != nil || found < 7 {
		t.Fatalf("%d lock files: %v", found, err)
	}
}

func TestHostsInLockFilesAreNoticed(t *testing.T) {
	t.Parallel()
	for text, name := range map[string]string{
		`{"packages":{"node_modules/a":{"version":"1.0.0","resolved":"https://npm.example/a.tgz"}}}`:          "package-lock.json",
		`{"dependencies":{"a":{"requires":{"b":"git+ssh://git@git.example/b"}}}}`:                             "package-lock.json",
		"a==1.0 \\\n    --hash=sha256:00\n--index-url https://pypi.example/simple\n":                          "requirements.txt",
		"a @ https://pypi.example/a.whl\n":                                                                    "requirements.txt",
		`{"packages":{"node_modules/a":{"funding":[{"url":"https://a.example"}],"resolved":"http://b/a.t"}}}`: "package-lock.json",
	} {
		if lockedHosts(name)([]byte(text)) == nil {
			t.Errorf("not noticed: %s", text)
		}
	}
	fine := `{"packages":{"node_modules/a":{"version":"1.0.0","funding":{"url":"https://a.example"}}}}`
	if err := lockedHosts("package-lock.json")([]byte(fine)); err != nil {
		t.Error(err)
	}
}

// lockedHosts is the check of a lock file of that name; nil for other files.
func lockedHosts(name string) func(data []byte) error {
	switch name {
	case "package-lock.json":
		return func(data []byte) error {
			var lock any
			if err := json.Unmarshal(data, &lock); err != nil {
				return err
			}
			return namedHost("", lock)
		}
	case "requirements.txt", "requirements.in":
		return func(data []byte) error { return namedHost("", string(data)) }
	}
	return nil
}

// namedHost reports the first URL in a JSON value. Nothing is fetched from one that asks
// for money.
func namedHost(key string, value any) error {
	switch v := value.(type) {
	case string:
		if at := strings.Index(v, "://"); at >= 0 {
			return fmt.Errorf("%s names the host of %q", key, v[max(at-40, 0):min(at+40, len(v))])
		}
	case []any:
		for _, one := range v {
			if err := namedHost(key, one); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name == "funding" {
				continue
			}
			if err := namedHost(name, v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestDockerfile: the image holds a static binary, does not run as root, and can be reached.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if !strings.Contains(text, "CGO_ENABLED=0 go build") {
		t.Error("the binary is not static: no CGO_ENABLED=0")
	}
	users := regexp.MustCompile(`(?m)^USER (\S+)`).FindAllStringSubmatch(text, -1)
	if len(users) == 0 || users[len(users)-1][1] == "root" || users[len(users)-1][1] == "0" {
		t.Errorf("the image runs as %v, want an ordinary user", users)
	}
	if !strings.Contains(text, "\nENV YUDAI_SERVER_ADDRESS=0.0.0.0:8080\n") {
		t.Error("the image listens on its own loopback, where no published port leads")
	}
	if !strings.Contains(text, `CMD ["yudai", "healthcheck"]`) {
		t.Error("the image does not ask the program for its health")
	}
	if !strings.Contains(text, "yudai/server.stamp=$STAMP") {
		t.Error("the image's program is not told its version")
	}
	if !strings.Contains(text, "\nCOPY LICENSE NOTICE ") {
		t.Error("the image lacks the licences of what it holds")
	}
}
