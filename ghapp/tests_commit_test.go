package ghapp_test

import (
	"slices"
	"testing"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// TestReproductionTestsHaveTheirOwnCommit: it stands between the base and the champion's commit, whose
// tree has both.
func TestReproductionTestsHaveTheirOwnCommit(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		file := solve.CommitFile{Path: "hello_test.go", Mode: "100644", Data: []byte("package hello\n")}
		w.content.commit.Files = append(w.content.commit.Files, file)
		w.content.commit.Tests = &solve.TestsCommit{Message: "test: say hello\n\nFor #1.\n", Files: []solve.CommitFile{file}}
		s := w.solvedPull()
		champion := w.commit(s.Pull.Commit)
		tests := w.commit(champion.Parents[0].GetSHA())
		if got := tests.Parents[0].GetSHA(); got != w.base || tests.GetMessage() != "test: say hello\n\nFor #1." {
			t.Errorf("the tests are on %s, want %s: %q", got, w.base, tests.GetMessage())
		}
		for sha, want := range map[string][]string{
			tests.GetTree().GetSHA():    {"hello_test.go"},
			champion.GetTree().GetSHA(): {"hello_test.go", "bin/tool", "link"},
		} {
			tree, _, err := w.api().Git.GetTree(t.Context(), "octo", "hello", sha, true)
			must(t, err)
			have := map[string]bool{}
			for _, e := range tree.Entries {
				have[e.GetPath()] = true
			}
			for _, p := range []string{"hello_test.go", "bin/tool", "link"} {
				if wanted := slices.Contains(want, p); have[p] != wanted {
					t.Errorf("tree %s has %s: %v, want %v", sha, p, have[p], wanted)
				}
			}
		}
	})
}
