package docker_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox/docker"
)

// TestImageIsTheOneOfTheDefaults: what `make docker-image` builds is what the driver
// looks for, can be pinned, and keeps to what the driver needs.
func TestImageIsTheOneOfTheDefaults(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../scripts/docker-image")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{docker.DefaultConfig().Image, "uid=${2:-1000}", "sandbox/docker/image"} {
		if !strings.Contains(string(script), want) {
			t.Errorf("the script does not name %q", want)
		}
	}
	file, err := os.ReadFile("image/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(file), -1) {
		if _, tag, ok := strings.Cut(m[1], ":"); !ok || tag == "latest" {
			t.Errorf("FROM %s names no version", m[1])
		}
	}
	if regexp.MustCompile(`(?m)^(VOLUME|USER root)`).Match(file) {
		t.Error("the Dockerfile declares a volume, or runs as root")
	}
	for _, program := range []string{" bash ", " git ", " coreutils ", " python3 ", " maven ", " ripgrep "} {
		if !strings.Contains(string(file), program) {
			t.Errorf("the Dockerfile does not install%s", program)
		}
	}
}
