package ghapp_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

func TestWriterWritesAWholeSolve(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{Tokens: githubsim.TokenAlternate}, func(t *testing.T, w *world) {
		stop := w.write("node-1")
		s := w.solveAll("d0000000000000000001", w.settle)
		w.settle()
		stop()
		w.checkOnce(s)

		api := w.api()
		commit, _, err := api.Git.GetCommit(t.Context(), "octo", "hello", s.Pull.Commit)
		must(t, err)
		if got := commit.Parents; len(got) != 1 || got[0].GetSHA() != w.base {
			t.Errorf("the champion's parents are %v", got)
		}
		if !commit.GetVerification().GetVerified() {
			t.Error("the champion's commit is not signed")
		}
		if !strings.HasSuffix(commit.GetMessage(), "Requested-by: ada\nYudai-Solve: d0000000000000000001") {
			t.Errorf("message is %q", commit.GetMessage())
		}
		tree, _, err := api.Git.GetTree(t.Context(), "octo", "hello", commit.GetTree().GetSHA(), true)
		must(t, err)
		modes := map[string]string{}
		for _, e := range tree.Entries {
			if e.GetType() == "blob" {
				modes[e.GetPath()] = e.GetMode()
			}
		}
		want := map[string]string{"hello.go": "100644", "bin/tool": "100755", "link": "120000", "empty": "100644", "run.sh": "100755"}
		if d := cmp.Diff(want, modes); d != "" {
			t.Error(d)
		}
	})
}
