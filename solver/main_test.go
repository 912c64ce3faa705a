package solver_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// answerFile is the one file of the test repository that matters: its first
// word says what the tests make of the tree, see [machine].
const answerFile = "answer.txt"

// origin is the bare repository that all tests clone; it is only read.
// closing is a commit on top, with a right answer and a test of it.
type origin struct{ dir, path, sha, closing string }

var theOrigin = sync.OnceValues(func() (origin, error) {
	dir, err := os.MkdirTemp("", "yudai-solver-*")
	if err != nil {
		return origin{}, err
	}
	o := origin{dir: dir, path: filepath.Join(dir, "project.git")}
	cmd := exec.Command("sh", "-ec", `
		mkdir work && cd work && git init -q -b main . && echo base > `+answerFile+` && echo read me > README
		git add . && git commit -q -m base && git branch other && git rev-parse HEAD
		git checkout -q -b closing && echo good by hand > `+answerFile+` && echo issue > `+testFile+` && git add . && git commit -q -m closing
		git rev-parse HEAD && git checkout -q main && cd .. && git clone -q --bare work project.git`)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return o, fmt.Errorf("make the test repository: %w\n%s", err, out)
	}
	o.sha, o.closing, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	return o, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if o, err := theOrigin(); err == nil {
		os.RemoveAll(o.dir)
	}
	os.Exit(code)
}
