package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/test/localsolve"
)

// TestDefinitions: two projects each of three languages at least, one of each in
// the sample, and in every one a right fix, a wrong one and one that breaks a test.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	all, err := load(definitions)
	if err != nil {
		t.Fatal(err)
	}
	languages, samples := map[string]int{}, map[string]int{}
	for _, p := range all {
		languages[p.Language]++
		if p.Sample {
			samples[p.Language]++
		}
		script, err := scripted.Load(p.script)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		var models []string
		for _, play := range script.Plays {
			models = append(models, play.Match.Model)
		}
		if want := []string{"breaks", "right", "wrong"}; !slices.Equal(slices.Sorted(slices.Values(models)), want) || !slices.Equal(slices.Sorted(maps.Keys(p.Verdicts)), want) {
			t.Errorf("%s: plays of %q, verdicts of %v; want both for %q", p.name, models, p.Verdicts, want)
		}
		if p.Tests.Failed == 0 {
			t.Errorf("%s: no test of the project finds its bug", p.name)
		}
	}
	for _, l := range []string{"Go", "JavaScript", "Python"} {
		if languages[l] < 2 || samples[l] != 1 {
			t.Errorf("%s: %d projects, %d in the sample; want two or more, and one", l, languages[l], samples[l])
		}
	}
}

func TestReadNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := load(fstest.MapFS{"testdata/x.txtar": {Data: []byte("-- project.yml --\nabout: x\nlanguage: Go\n")}})
	if err == nil || !strings.Contains(err.Error(), "x.txtar: missing: bug, champion, format, issue.md, licence, script.yml, source, tests, verdicts") {
		t.Error(err)
	}
	_, err = load(fstest.MapFS{"testdata/x.txtar": {Data: []byte("-- project.yml --\nnonsense: x\n")}})
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Error(err)
	}
}

// TestPageNamesTheDefinitions: the page is of these projects, and of no others.
func TestPageNamesTheDefinitions(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/evidence/projects.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), pageBegin)
	table, _, ok := strings.Cut(rest, pageEnd)
	if !ok {
		t.Fatal("the page has no markers")
	}
	all, err := load(definitions)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range all {
		want = append(want, p.name+" "+p.Source.Name+" "+p.Source.Version)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([\w.-]+) \| (\S+ \S+) \|`).FindAllStringSubmatch(table, -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/evidence/projects.md differs from test/projects/testdata (make projects writes it):\n%s", diff)
	}
}

func TestRowSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	p := project{Champion: "right", Format: "go", Tests: tests{3, 1, 0}, Verdicts: map[string]string{"right": "passed", "wrong": "failed"}}
	good := row{project: p, tests: p.Tests, format: "go", champion: "right", verdicts: p.Verdicts}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(r *row){
		"tests on the base": func(r *row) { r.tests.Failed = 2 },
		"format":            func(r *row) { r.format = "exit" },
		"champion":          func(r *row) { r.champion = "wrong" },
		"verdicts":          func(r *row) { r.verdicts = map[string]string{"right": "passed"} },
		"left behind":       func(r *row) { r.left = []string{"/x/sandboxes"} },
	} {
		r := good
		change(&r)
		if err := r.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(name, []byte("before\n"+pageBegin+"old\n"+pageEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := row{
		project: project{name: "x", Language: "Go", Source: source{Name: "example.com/x", Version: "v1"}}, tests: tests{3, 1, 2}, format: "go",
		champion: "right", verdicts: map[string]string{"wrong": "failed", "right": "passed"}, prepared: 2 * time.Second, took: 5 * time.Second,
	}
	if err := page(name, render([]row{r})); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := "| x | example.com/x v1 | Go | 3 passed, 1 failed, 2 skipped | go | right | right passed, wrong failed | 2 s | 5 | 0 |\n" + pageEnd + "after\n"
	if got := string(data); !strings.HasPrefix(got, "before\n"+pageBegin+"| Project") || !strings.HasSuffix(got, want) {
		t.Errorf("page:\n%s", got)
	}
	if err := os.WriteFile(name, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := page(name, "x"); err == nil {
		t.Error("a page without markers was written")
	}
}

func TestPlant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "a.py")
	if err := os.WriteFile(name, []byte("x = 1\ny = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (edit{"a.py", "x = 1", "x = 2"}).apply(dir); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(name); string(data) != "x = 2\ny = 1\n" {
		t.Errorf("%q", data)
	}
	for _, e := range []edit{{"a.py", " = ", "!"}, {"a.py", "z", "!"}, {"b.py", "x", "!"}, {"a.py", "", "!"}} {
		if err := e.apply(dir); err == nil {
			t.Errorf("%+v was made", e)
		}
	}
}

// TestFetchChecksTheSum: what lies in the cache is used only with the right sum, and unpacked without its first directory.
func TestFetchChecksTheSum(t *testing.T) {
	t.Parallel()
	cache, dir := t.TempDir(), filepath.Join(t.TempDir(), "repo")
	kept := filepath.Join(cache, "npm", "@scope+x@1.0.0")
	file := filepath.Join(kept, "x.tgz")
	if err := os.MkdirAll(kept, 0o750); err != nil {
		t.Fatal(err)
	}
	sum := pack(t, file, map[string]string{"package/package.json": "{}", "package/test/a.js": "1"})
	s := source{Ecosystem: "npm", Name: "@scope/x", Version: "1.0.0", Sum: sum}
	if err := s.fetch(t.Context(), cache, dir); err != nil {
		t.Fatal(err)
	}
	got, err := localsolve.Paths(dir)
	if err != nil || !slices.Equal(got, []string{"package.json", "test/a.js"}) {
		t.Errorf("%q, %v", got, err)
	}
	s.Sum = strings.Repeat("0", 64)
	if err := s.fetch(t.Context(), cache, dir); err == nil || !strings.Contains(err.Error(), sum) {
		t.Errorf("wrong sum: %v", err)
	}
	s.Sum = pack(t, file, map[string]string{"package/../../escape": "!"})
	if err := s.fetch(t.Context(), cache, dir); err == nil {
		t.Error("a name that leads out of the directory was written")
	}
}

// pack writes an archive and returns its sum.
func pack(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for _, n := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: n, Size: int64(len(files[n])), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[n])); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []interface{ Close() error }{w, z, f} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []project{{name: "a", Sample: true}, {name: "b"}}
	for _, c := range []struct {
		o    options
		want int
	}{{options{}, 2}, {options{sample: true}, 1}, {options{only: "b"}, 1}} {
		if got, err := choose(all, c.o); err != nil || len(got) != c.want {
			t.Errorf("%+v: %d, %v", c.o, len(got), err)
		}
	}
	if _, err := choose(all, options{only: "nothing"}); err == nil {
		t.Error("an unknown project was found")
	}
}
