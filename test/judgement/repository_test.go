package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/localsolve"
)

// TestDefinitions: what is measured is there, in every language.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	all, err := load(definitions)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range all {
		count[r.group]++
		count[r.group+" "+r.Language]++
		kinds := map[kind]int{}
		for _, c := range r.Candidates {
			kinds[c.Kind]++
		}
		if r.group == hidden && (kinds[right] < 2 || kinds[wrong] < 2 || kinds[nothing] < 1) {
			t.Errorf("%s: %v, want two that are right, two that are wrong, one that does nothing", r.name, kinds)
		}
		script, err := r.script()
		if err == nil {
			_, err = scripted.Load(script)
		}
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
	for _, language := range []string{"Go", "Python", "JavaScript", "TypeScript", "Java", "Rust"} {
		if n := count[hidden+" "+language]; n < 4 {
			t.Errorf("%s: %d repositories whose bug no test shows, want 4", language, n)
		}
	}
	if good, bad := reproducers(all, solve.RunPassed), reproducers(all, solve.RunFailed); len(good) < 3 || len(bad) < 2 {
		t.Errorf("reproducers whose tests count in %v, and bad ones in %v", good, bad)
	}
	if count[misjudged] != 6 {
		t.Errorf("%d misjudged repositories, want 6", count[misjudged])
	}
}

// reproducers lists the languages of the repositories whose reproducer must end so.
func reproducers(all []repository, state solve.RunState) (out []string) {
	for _, r := range all {
		if r.Reproducer == state && !slices.Contains(out, r.Language) {
			out = append(out, r.Language)
		}
	}
	return out
}

// TestEveryCandidateChanges: no command of a candidate fails, or does what another one did already.
func TestEveryCandidateChanges(t *testing.T) {
	t.Parallel()
	all, err := load(definitions)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		t.Run(r.group+"/"+r.name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]string{treeAfter(t, r, ""): "the base"}
			for _, c := range r.Candidates {
				sum := treeAfter(t, r, c.Name)
				if other, ok := seen[sum]; ok {
					t.Errorf("%s is the same as %s", c.Name, other)
				}
				seen[sum] = c.Name
			}
		})
	}
}

// treeAfter lays the base, runs the commands of a candidate, and returns a digest of all files.
func treeAfter(t *testing.T, r repository, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := r.lay(dir); err != nil {
		t.Fatal(err)
	}
	if name != "" {
		c := exec.CommandContext(t.Context(), "bash", "-c", r.shell(name))
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	paths, err := localsolve.Paths(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	h := sha256.New()
	for _, p := range paths {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(p)))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%s %d\n%s", p, len(data), data)
	}
	return string(h.Sum(nil))
}

func TestReadNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	const whole = "-- repository.yml --\nabout: x\nlanguage: Go\ncandidates: [{name: a, kind: %s}]\n-- issue.md --\nx\n-- base/x --\nx\n"
	for text, want := range map[string]string{
		"-- x --\n": "x is neither", "-- repository.yml --\nabout: x\n": "language, issue or base is missing",
		fmt.Sprintf(whole, "good") + "-- a.sh --\ntrue\n": `unknown kind "good"`, fmt.Sprintf(whole, "right"): "candidate a changes nothing",
		fmt.Sprintf(whole, "right") + "-- a.sh --\ntrue\n-- b.sh --\ntrue\n": "b has files or commands and is no candidate",
		fmt.Sprintf(whole, "cheat") + "-- a/x --\ny\n":                       "have a tactic",
	} {
		if _, err := load(fstest.MapFS{"testdata/cheats/x.txtar": {Data: []byte(text)}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
