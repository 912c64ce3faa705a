package solver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// answerFile is the one file of the test repository that matters: its first
// word says what the tests make of the tree, see [machine].
const answerFile = "answer.txt"

// origin is the repository that all tests clone: a bare one on this host, made
// once, before any test begins. It is only read.
type origin struct{ path, sha string }

// remote hands the one origin of the binary to the tests.
type remoteKey struct{}

var remote = context.WithValue(context.Background(), remoteKey{}, new(origin))

func theOrigin() *origin { return remote.Value(remoteKey{}).(*origin) }

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "yudai-solver-*")
	if err == nil {
		err = theOrigin().make(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}
