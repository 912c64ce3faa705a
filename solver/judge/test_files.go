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

// testFiles lists the files of a patch that belong to the tests: tests and their
// data, the runner's configuration, and files whose mere presence steers a
// runner. Both names of a renamed file are listed.
func testFiles(changes []solve.FileChange) []string {
	var out []string
	for _, c := range changes {
		for _, p := range []string{c.Path, c.OldPath} {
			if p != "" && (patch.IsTestFile(p) || patch.IsTestConfig(p) || controlsRunner(p)) {
				out = append(out, p)
			}
		}
	}
	return out
}

// named lists the changed files that the test command itself names: its script.
func named(changes []solve.FileChange, command string) []string {
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>'\"=", r) })
	var out []string
	for _, c := range changes {
		for _, p := range []string{c.Path, c.OldPath} {
			if p != "" && slices.ContainsFunc(words, func(w string) bool { return path.Clean(w) == p }) {
				out = append(out, p)
			}
		}
	}
	return out
}

// controlsRunner reports whether a file decides what a test command does although it is
// neither a test nor a test configuration by its name.
func controlsRunner(p string) bool {
	switch path.Base(p) {
	case "go.work", "sitecustomize.py", "usercustomize.py", "GNUmakefile", "makefile", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs":
		return true
	}
	dir := path.Base(path.Dir(p))
	return dir == ".cargo" || dir == ".mvn" || shadowsPython(p)
}

// shadowsPython reports whether Python, which looks in the root of the repository
// first, would take the file for its test runner or a part of it.
func shadowsPython(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	switch strings.TrimSuffix(first, ".py") {
	case "pytest", "_pytest", "pluggy", "iniconfig", "unittest":
		return path.Ext(p) == ".py"
	}
	return false
}

// mixedFiles are files that hold a runner's configuration beside much else: the
// base's version is put back only if that part of them changed. The values are
// the base's content, nil where the base has none.
type mixedFiles map[string][]byte

// mixed reads the base's versions, before the patch is applied.
func (j *judging) mixed(ctx context.Context) (mixedFiles, error) {
	m := mixedFiles{}
	for _, c := range j.Changes {
		for _, p := range []string{c.Path, c.OldPath} {
			if p == "" || runnerPart(p, nil) == nil || !strings.Contains(j.Test.Command, builder(p)) {
				continue
			}
			data, err := read(ctx, j.sb, p)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", path.Base(p), err)
			}
			m[p] = data
		}
	}
	return m, nil
}

// changed lists the files whose runner's part differs now.
func (m mixedFiles) changed(ctx context.Context, sb sandbox.Sandbox) []string {
	var out []string
	for p, base := range m {
		now, err := read(ctx, sb, p)
		if err != nil || !bytes.Equal(runnerPart(p, base), runnerPart(p, now)) {
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

// runnerPart is the part of a mixed file that steers the tests, in a form that
// can be compared; nil for a file that is no mixed file.
func runnerPart(p string, data []byte) []byte {
	switch path.Base(p) {
	case "package.json":
		return packagePart(data)
	case "go.mod": // another module in the place of one that the tests use
		return append([]byte("go:"), bytes.Join(goReplace.FindAll(data, -1), []byte("\n"))...)
	case "pyproject.toml":
		return append([]byte("toml:"), bytes.Join(pytestSection.FindAll(append(data, '\n'), -1), nil)...)
	case "Cargo.toml":
		return append([]byte("cargo:"), bytes.Join(cargoTests.FindAll(data, -1), []byte("\n"))...)
	}
	if builder(p) != "" {
		return append([]byte("all:"), data...)
	}
	return nil
}

// builder is the program whose build file p is, "" if p is none. A build file
// is compared as a whole, and matters only to test commands that run its builder.
func builder(p string) string {
	switch base := path.Base(p); {
	case base == "Makefile":
		return "make"
	case base == "pom.xml":
		return "mvn"
	case strings.Contains(base, "gradle"):
		return "gradle"
	}
	return ""
}

// packagePart is what of a package.json steers its tests.
func packagePart(data []byte) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return append([]byte("raw:"), data...)
	}
	var part strings.Builder
	part.WriteString("json:")
	for _, key := range []string{"scripts", "jest", "mocha", "vitest", "ava", "tap", "nyc", "c8"} {
		var flat bytes.Buffer
		if raw, ok := all[key]; ok && json.Compact(&flat, raw) == nil {
			fmt.Fprintf(&part, "%s=%s\n", key, flat.Bytes())
		}
	}
	return []byte(part.String())
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

// weakens lists the existing test files that the patch deletes, and those files
// of the tests' side that it changes or adds so that tests which the regression
// ran are gone or skipped in the candidate's own run. A lost test is put down to
// the file it is in, where its name tells; else to all of them.
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

// holds reports whether a test of that name can be in the file: the Go package
// of its directory, or a JUnit class named after it.
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
