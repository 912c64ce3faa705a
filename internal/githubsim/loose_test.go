package githubsim_test

import (
	"testing"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

// TestPackedRepositoryAnswersAsALooseOne: what is read without git, and what git
// is asked for once everything is packed, is the same.
func TestPackedRepositoryAnswersAsALooseOne(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	look := func() (ref, message string) {
		t.Helper()
		got, _, err := w.client.Git.GetRef(t.Context(), owner, name, "heads/main")
		check(t, err)
		sha := got.GetObject().GetSHA()
		commit, _, err := w.client.Git.GetCommit(t.Context(), owner, name, sha)
		check(t, err)
		return sha, commit.GetMessage()
	}
	sha, message := look()
	for _, args := range [][]string{{"pack-refs", "--all"}, {"repack", "-a", "-d", "-q"}} {
		if out, err := git(t, w.repo.Dir(), "", args...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if s, m := look(); s != sha || m != message {
			t.Errorf("after %v: %s %q, before %s %q", args, s, m, sha, message)
		}
	}
	next, err := w.hub.CommitFiles(full, "main", "next", map[string]string{"new.txt": "new\n"})
	check(t, err)
	if s, m := look(); s != next || m != "next" {
		t.Errorf("after a commit on top: %s %q, want %s", s, m, next)
	}
	_, resp, err := w.client.Git.GetRef(t.Context(), owner, name, "heads/none")
	if err == nil || resp.StatusCode != 404 {
		t.Errorf("a branch that is not there: %v", err)
	}
}
