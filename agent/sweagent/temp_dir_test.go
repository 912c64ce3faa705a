package sweagent_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
)

// What a process left that was killed is removed by the next run; what another process
// works with is not, nor what is not ours.
func TestLeftDirectoriesAreSwept(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"yudai-swe-agent-left", "yudai-swe-agent-used", "other"} {
		dir := filepath.Join(tmp, name)
		if err := os.MkdirAll(filepath.Join(dir, "home"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	used, err := os.Open(filepath.Join(tmp, "yudai-swe-agent-used"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = used.Close() }()
	if err := syscall.Flock(int(used.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	w := setup(t)
	w.run(w.job("echo looked", "end submitted"), agent.ExitSubmitted)
	for name, stays := range map[string]bool{"yudai-swe-agent-left": false, "yudai-swe-agent-used": true, "other": true} {
		if _, err := os.Stat(filepath.Join(tmp, name)); (err == nil) != stays {
			t.Errorf("%s stays %t, want %t", name, err == nil, stays)
		}
	}
	if list, err := filepath.Glob(filepath.Join(tmp, "yudai-swe-agent-*")); err != nil || len(list) != 1 {
		t.Errorf("%q %v", list, err)
	}
}
