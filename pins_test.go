package main

import (
	"os"
	"regexp"
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

// TestDockerfile: the image holds a static binary and does not run as root.
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
}
