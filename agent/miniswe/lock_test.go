package miniswe_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent/miniswe"
)

// compromised are releases that must never be installed.
var compromised = []string{"litellm==1.82.7", "litellm==1.82.8", "openai==1.100.0", "openai==1.100.1"}

// checkLock reports what must not be in a lock.
func checkLock(text string) error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	pinned := regexp.MustCompile(`^([a-z0-9][a-z0-9-]*==[0-9][0-9A-Za-z.+]*)(?: ;( [^\\#]*))?$`)
	hash := regexp.MustCompile(`^--hash=sha256:[0-9a-f]{64}$`)
	seen := map[string]bool{}
	for entry := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(text, "\\\n", "\x00")), "\n") {
		parts := strings.Split(entry, "\x00")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		m := pinned.FindStringSubmatch(parts[0])
		if m == nil {
			bad("not a pinned package: %q", parts[0])
			continue
		}
		name, _, _ := strings.Cut(m[1], "==")
		seen[name] = true
		if slices.Contains(compromised, m[1]) {
			bad("compromised release: %s", m[1])
		}
		if len(parts) < 2 {
			bad("without a hash: %s", m[1])
		}
		for _, h := range parts[1:] {
			if !hash.MatchString(h) {
				bad("%s: not a hash: %q", m[1], h)
			}
		}
	}
	for _, name := range []string{"mini-swe-agent", "litellm", "openai"} {
		if !seen[name] {
			bad("%s is missing", name)
		}
	}
	for _, name := range []string{"datasets", "pyarrow", "pandas", "numpy"} {
		if seen[name] {
			bad("%s is hundreds of megabytes that nothing here needs", name)
		}
	}
	return errors.Join(problems...)
}

// TestLock: every package is pinned and has hashes, and none is known to be bad. The
// check itself must notice each kind of fault.
func TestLock(t *testing.T) {
	t.Parallel()
	text := string(miniswe.Program().Install.Files[0].Data)
	if err := checkLock(text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "mini-swe-agent==2.4.6 ") {
		t.Error("another version than the trajectory format and the native loop were compared with")
	}
	for _, line := range []string{
		"litellm==1.82.8 \\\n    --hash=sha256:" + strings.Repeat("a", 64),
		"openai==1.100.1 ; sys_platform == 'linux' \\\n    --hash=sha256:" + strings.Repeat("a", 64),
		"six==1.17.0",
		"six==1.17.0 \\\n    --hash=md5:" + strings.Repeat("a", 32),
		"six>=1.17.0 \\\n    --hash=sha256:" + strings.Repeat("a", 64),
		"six @ https://example.com/six.whl",
		"--index-url https://example.com/simple",
		"--extra-index-url https://example.com/simple",
		"-e .",
		"pandas==3.1.1 \\\n    --hash=sha256:" + strings.Repeat("a", 64),
	} {
		if checkLock(text+line+"\n") == nil {
			t.Errorf("not noticed: %s", line)
		}
	}
}
