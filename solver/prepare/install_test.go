package prepare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

func TestHostsIn(t *testing.T) {
	t.Parallel()
	got := HostsIn(map[string]string{
		"GOPROXY": "https://go.example.com/x|http://second.example.com,direct", "PIP_INDEX_URL": "https://pypi.example.com:443/simple",
		"CARGO_X": "sparse+https://crates.example.com/", "FLAG": "1", "FILE": "file:///etc/passwd", "GOSUMDB": "off", "BAD": "https://a_b!/",
		"npm_config_registry": "https://go.example.com/npm",
	})
	want := []string{"crates.example.com", "go.example.com", "pypi.example.com", "second.example.com"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSaidShowsTheErrors: npm ends with where its log is, pip with advice; what went wrong stands before.
func TestSaidShowsTheErrors(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]string{
		"fetching\n\nno such package\n": "Its last line: `no such package`",
		"":                              "Its last line: it printed nothing",
		"npm ERR! code E404\nnpm ERR! 404 `left-pad` is not in this registry.\n\nA complete log of this run can be found in: /x.log\n": "It says: `npm ERR! code E404`, " +
			"`npm ERR! 404 'left-pad' is not in this registry.`",
		"ERROR: No matching distribution found for x==9\nnotice: a new release of pip\nnotice: update\n": "It says: `ERROR: No matching distribution found for x==9`",
		"error 1\nerror 1\nerror 2\nerror 3\nerror 4\n":                                                  "It says: `error 1`, `error 2`, `error 3`",
	} {
		if got := said(out); got != want {
			t.Errorf("%q: %q, want %q", out, got, want)
		}
	}
}

type refuser struct {
	sandbox.Sandbox
	hosts []string
}

func (r refuser) Refused() []string    { return r.hosts }
func (r refuser) Place() sandbox.Place { return sandbox.Place{Driver: "docker"} }

// TestClosedNamesTheSetting: whoever reads that an install failed learns which setting opens what it asked for.
func TestClosedNamesTheSetting(t *testing.T) {
	t.Parallel()
	allowed := []string{"pypi.org"}
	for name, c := range map[string]struct {
		hosts []string
		only  bool
		want  string
	}{
		"nothing":  {nil, false, ""},
		"unlisted": {[]string{"cdn.example.com", "bad host`"}, false, ". It asked for `cdn.example.com`: solver.tests.hosts can allow that"},
		"left out": {[]string{"cdn.example.com"}, true, ". It asked for `cdn.example.com`: network in .github/yudai.yml leaves it closed"},
		"private":  {[]string{"pypi.org"}, false, ". Here `pypi.org` leads to a private address: sandbox.docker.allow_private can allow that"},
	} {
		if got := closed(refuser{hosts: c.hosts}, allowed, c.only); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// artifact is a store with one artifact.
type artifact struct {
	Store
	data string
}

func (a artifact) Artifact(context.Context, solve.ID, string) ([]byte, error) {
	return []byte(a.data), nil
}

// TestNotesAreWhatTheInstallPrinted: a sentence about a lock file is told only where the install
// printed it; what is not tested is told always.
func TestNotesAreWhatTheInstallPrinted(t *testing.T) {
	t.Parallel()
	for log, want := range map[string][]string{
		"a\nuv.lock was not obeyed\nb\n":     {"uv.lock was not obeyed", "half"},
		"say uv.lock was not obeyed twice\n": {"half"},
		"":                                   {"half"},
	} {
		b := build{by: &Preparer{store: artifact{data: log}}, setup: judge.Setup{Unlocked: []string{"uv.lock was not obeyed"}, Untested: "half"}}
		got, err := b.notes(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v, %s", log, err, diff)
		}
	}
}

// TestALinkedManifestIsNone: a link below the root does not keep the root's tests from being found.
func TestALinkedManifestIsNone(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	made := exec.CommandContext(t.Context(), "bash", "-ec", `git init -q -b main; echo 'module m' > go.mod; touch a_test.go; mkdir web; ln -s ../rules web/Makefile
git add -A; git -c user.name=a -c user.email=a@example.com commit -qm base; git rev-parse HEAD`)
	made.Dir, made.Env = work, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	sha, err := made.Output()
	if err != nil {
		t.Fatal(err)
	}
	m, err := git.New(t.TempDir()).Mirror(t.Context(), "1", work, git.Auth{})
	if err != nil {
		t.Fatal(err)
	}
	setup, err := (&Preparer{}).setup(t.Context(), m, solve.Solve{Base: solve.Base{SHA: strings.TrimSpace(string(sha))}})
	if err != nil || setup.Test.Command != "go test ./..." {
		t.Errorf("%q, %v", setup.Test.Command, err)
	}
}

// TestInstallEndsWithTheFirstFailure: what comes after a failed line does not run, and the
// agent's home does not stay.
func TestInstallEndsWithTheFirstFailure(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "agents")
	install := func(command string) error {
		return exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf(installAgent, dir, command)).Run()
	}
	if err := install("mkdir tool\ncd tool\ntouch \"$HOME/cache\" made"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "tool", "made")); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".home")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	var exit *exec.ExitError
	if err := install("(exit 7)\ntouch after"); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("a failed install ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "after")); err == nil {
		t.Error("the install went on after a failure")
	}
}
