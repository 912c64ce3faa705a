package ghapp_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// commitFile commits one file to the default branch and returns the commit.
func (w *world) commitFile(full, name, text string) string {
	w.t.Helper()
	sha, err := w.hub.CommitFiles(full, "main", "settings", map[string]string{name: text})
	must(w.t, err)
	return sha
}

func TestRepoConfig(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, githubsim.Options{})
		if _, _, err := w.app.RepoConfig(t.Context(), w.repo, w.base); !errors.Is(err, solve.ErrNotFound) {
			t.Errorf("without a file: %v", err)
		}
		own := w.commitFile("octo/hello", solve.RepoConfigFile, "own: 1\n")
		w.commitFile("octo/hello", solve.RepoConfigFile, "own: 2\n")
		name, data, err := w.app.RepoConfig(t.Context(), w.repo, own)
		if name != ".github/yudai.yml" || string(data) != "own: 1\n" || err != nil {
			t.Errorf("%s %q %v, want the file as it is at the commit", name, data, err)
		}
		_, err = w.hub.CreateRepo("octo", ".github", map[string]string{"yudai.yml": "owner: 1\n"})
		must(t, err)
		name, data, err = w.app.RepoConfig(t.Context(), w.repo, w.base)
		if name != "octo/.github/yudai.yml" || string(data) != "owner: 1\n" || err != nil {
			t.Errorf("%s %q %v, want the owner's file", name, data, err)
		}
		if _, data, err = w.app.RepoConfig(t.Context(), w.repo, own); string(data) != "own: 1\n" || err != nil {
			t.Errorf("%q %v, want the repository's own before its owner's", data, err)
		}
	})
}

func TestRepoConfigThatIsNoFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, githubsim.Options{})
		folder := w.commitFile("octo/hello", solve.RepoConfigFile+"/x", "x")
		if _, _, err := w.app.RepoConfig(t.Context(), w.repo, folder); !errors.Is(err, solve.ErrNotFound) {
			t.Errorf("a folder: %v", err)
		}
	})
}

func TestRepoConfigThatIsTooLarge(t *testing.T) {
	t.Parallel()
	for _, size := range []int{solve.MaxRepoConfig, solve.MaxRepoConfig + 1, 2 << 20} {
		synctest.Test(t, func(t *testing.T) {
			w := setup(t, githubsim.Options{})
			sha := w.commitFile("octo/hello", solve.RepoConfigFile, strings.Repeat("#", size))
			name, data, err := w.app.RepoConfig(t.Context(), w.repo, sha)
			if fits := size <= solve.MaxRepoConfig; fits != (err == nil) || fits != (len(data) == size) || !fits && !errors.Is(err, solve.ErrTooLarge) {
				t.Errorf("%d bytes: %s, %d bytes, %v", size, name, len(data), err)
			}
		})
	}
}

// TestRepoConfigThatCannotBeRead: a failure is no missing file, or limits would be
// what they are without it.
func TestRepoConfigThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, githubsim.Options{})
		w.hub.Inject(githubsim.Fault{Method: http.MethodGet, Path: "/contents/", Count: -1, Kind: githubsim.FaultServerError})
		if _, _, err := w.app.RepoConfig(t.Context(), w.repo, w.base); err == nil || errors.Is(err, solve.ErrNotFound) {
			t.Errorf("err = %v", err)
		}
	})
}
