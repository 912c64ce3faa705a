package cmd_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/cmd"
)

// TestCoreFilesHoldNothing: neither yudai nor a program that it starts leaves its memory in a core file.
func TestCoreFilesHoldNothing(t *testing.T) {
	t.Parallel()
	const child = "YUDAI_TEST_CORE_FILES"
	if os.Getenv(child) != "" {
		if code := cmd.Execute(t.Context(), []string{"version"}, strings.NewReader(""), io.Discard, io.Discard); code != 0 {
			t.Fatalf("yudai version: exit code %d", code)
		}
		out, err := exec.CommandContext(t.Context(), "cat", "/proc/self/limits", "/proc/self/coredump_filter").Output()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s", out)
		return
	}
	self := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -S -c unlimited; exec "$0" -test.run '^TestCoreFilesHoldNothing$' -test.v`, os.Args[0])
	self.Env = append(os.Environ(), child+"=1")
	out, err := self.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	limit, filter := "", ""
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(line, "Max core file size"); ok {
			limit = strings.Join(strings.Fields(rest), " ")
		}
		if line == "00000000\n" {
			filter = strings.TrimSpace(line)
		}
	}
	if limit != "0 0 bytes" || filter == "" {
		t.Errorf("the limit of core files is %q, the filter of their memory %q: %s", limit, filter, out)
	}
}
