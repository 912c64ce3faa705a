package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// touched lists the files of a patch that satisfy match, by both names of a renamed one.
func touched(changes []solve.FileChange, match func(p string) bool) []string {
	var out []string
	for _, c := range changes {
		for _, p := range []string{c.Path, c.OldPath} {
			if p != "" && match(p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// isTestSide reports whether a file belongs to the tests: tests and their data, the
// runner's configuration, and files whose mere presence steers a runner.
func isTestSide(p string) bool {
	return patch.IsTestFile(p) || patch.IsTestConfig(p) || controlsRunner(p)
}

// namedBy reports whether the test command itself names a file: its script.
func namedBy(command string) func(p string) bool {
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>'\"=", r) })
	return func(p string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return path.Clean(w) == p })
	}
}

// controlsRunner reports whether a file decides what a test command does, although its name is
// that of neither a test nor a test configuration.
func controlsRunner(p string) bool {
	switch path.Base(p) {
	case "go.work", "sitecustomize.py", "usercustomize.py", "GNUmakefile", "makefile", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs":
		return true
	}
	dir := path.Base(path.Dir(p))
	return dir == ".cargo" || dir == ".mvn" || shadowsPython(p)
}

// shadowsPython reports whether Python would load the file instead of its test runner or a part
// of it: it looks in the root of the repository first.
func shadowsPython(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	switch strings.TrimSuffix(first, ".py") {
	case "pytest", "_pytest", "pluggy", "iniconfig", "unittest":
		return path.Ext(p) == ".py"
	}
	return false
}

// mixedFiles are the base's versions of files that hold a runner's configuration beside much
// else, nil where the base has no such file. They are restored only if that part changed.
type mixedFiles map[string][]byte

// mixed reads the base's versions, before the patch is applied.
func (j *judging) mixed(ctx context.Context) (mixedFiles, error) {
	m := mixedFiles{}
	matters := func(p string) bool {
		kind, ok := mixedFileOf(p)
		return ok && strings.Contains(j.Test.Command, kind.program)
	}
	for _, p := range touched(j.Changes, matters) {
		data, err := read(ctx, j.sb, p)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path.Base(p), err)
		}
		m[p] = data
	}
	return m, nil
}

// changed lists the files whose part for the runner differs now.
func (m mixedFiles) changed(ctx context.Context, sb sandbox.Sandbox) []string {
	var out []string
	for p, base := range m {
		now, err := read(ctx, sb, p)
		if kind, _ := mixedFileOf(p); err != nil || kind.part(base) != kind.part(now) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// maxConfig is how much of a mixed file is looked at, in bytes.
const maxConfig = 1 << 20

// read returns a regular file of the work tree; nil if there is none.
func read(ctx context.Context, sb sandbox.Sandbox, p string) ([]byte, error) {
	r, err := sb.Get(ctx, path.Join(sandbox.RepoDir, p))
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, nil // no such file, or a link: there is no content to compare
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxConfig))
}

var (
	pytestSection = regexp.MustCompile(`(?m)^\s*\[tool\.(?:pytest|tox|nox|coverage|hatch\.envs)[^\n]*\n(?:[^\[\n][^\n]*\n|\n|\[\[?"[^\n]*\n)*`)
	goReplace     = regexp.MustCompile(`(?m)^\s*replace\b[^(\n]*(?:\([^)]*\))?`)
	cargoTests    = regexp.MustCompile(`(?m)^\s*(?:test|doctest|autotests|harness)\s*=.*$|^\s*\[\[test\]\]`)
)

// mixedFile is a kind of files that hold a runner's configuration beside much else.
type mixedFile struct {
	name    string // a pattern of path.Match
	program string // they matter only to test commands that name this program
	part    func(data []byte) string
}

var mixedFileKinds = []mixedFile{
	{"package.json", "", packagePart},
	{"go.mod", "", found(goReplace)}, // another module instead of one that the tests use
	{"pyproject.toml", "", found(pytestSection)},
	{"Cargo.toml", "", found(cargoTests)},
	{"Makefile", "make", whole},
	{"pom.xml", "mvn", whole},
	{"*gradle*", "gradle", whole},
}

func mixedFileOf(p string) (mixedFile, bool) {
	i := slices.IndexFunc(mixedFileKinds, func(k mixedFile) bool {
		ok, _ := path.Match(k.name, path.Base(p)) // the patterns are well formed
		return ok
	})
	if i < 0 {
		return mixedFile{}, false
	}
	return mixedFileKinds[i], true
}

func whole(data []byte) string { return string(data) }

// found returns the part of a file that matches.
func found(re *regexp.Regexp) func(data []byte) string {
	return func(data []byte) string { return string(bytes.Join(re.FindAll(append(data, '\n'), -1), []byte("\n"))) }
}

// packageKeys are those of a package.json that steer its tests.
var packageKeys = []string{"scripts", "jest", "mocha", "vitest", "ava", "tap", "nyc", "c8"}

// packagePart is the part of a package.json that steers its tests.
func packagePart(data []byte) string {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return "raw:" + string(data)
	}
	part := "json:"
	for _, key := range packageKeys {
		var flat bytes.Buffer
		if raw, ok := all[key]; ok && json.Compact(&flat, raw) == nil {
			part += key + "=" + flat.String() + "\n"
		}
	}
	return part
}

// deleted lists the existing test files that the patch deletes.
func deleted(changes []solve.FileChange) []string {
	var out []string
	for _, c := range changes {
		if c.Op == "delete" && patch.IsTestFile(c.Path) {
			out = append(out, c.Path)
		}
	}
	slices.Sort(out)
	return out
}

// weakens lists the test files that the patch deletes, and the changed files that belong to
// the tests if tests of the regression are gone or skipped in the candidate's own run. A lost
// test counts for the file that it is in, if its name tells that, else for all changed files.
func weakens(changes []solve.FileChange, own []string, regression, candidate Report) []string {
	out := deleted(changes)
	var changed []string
	for _, c := range changes {
		p := c.Path
		if c.Op == "rename" {
			p = c.OldPath
		}
		if c.Op != "delete" && slices.Contains(own, p) {
			changed = append(changed, p)
		}
	}
	for name, was := range regression.Tests {
		if is := candidate.Tests[name]; was == Skip || is == Pass || is == Fail || candidate.passesNow(name) {
			continue
		}
		owners := slices.DeleteFunc(slices.Clone(changed), func(p string) bool { return !holds(p, name) })
		switch {
		case len(owners) > 0:
			out = append(out, owners...)
		case !slices.ContainsFunc(deleted(changes), func(p string) bool { return holds(p, name) }):
			out = append(out, changed...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// holds reports whether a test of that name can be in the file: it is of the Go package of the
// file's directory, or of a JUnit class with the file's name.
func holds(file, test string) bool {
	dir, stem := path.Dir(file), strings.TrimSuffix(file, path.Ext(file))
	if strings.HasSuffix(file, "_test.go") {
		pkg := test
		if i := strings.LastIndex(pkg, "/"); i >= 0 {
			if dot := strings.Index(pkg[i:], "."); dot >= 0 {
				pkg = pkg[:i+dot]
			}
		}
		pkg, _, _ = strings.Cut(pkg, ".Test")
		return dir == "." || pkg == dir || strings.HasSuffix(pkg, "/"+dir)
	}
	return strings.Contains("."+test+".", "."+strings.ReplaceAll(stem, "/", ".")+".")
}
