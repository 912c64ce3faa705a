package judge

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/patch"
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

// controlsRunner reports whether a file decides what a test command does, although its name is
// that of neither a test nor a test configuration.
func controlsRunner(p string) bool {
	base := path.Base(p)
	switch base {
	case "go.work", "sitecustomize.py", "usercustomize.py", "GNUmakefile", "makefile", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs",
		".swcrc", "bunfig.toml", "deno.json", "deno.jsonc", "import_map.json", "build.rs", "rust-toolchain", "rust-toolchain.toml":
		return true
	}
	for _, begin := range []string{"babel.config.", ".babelrc", "vite.config.", ".env.test"} {
		if strings.HasPrefix(base, begin) {
			return true
		}
	}
	return path.Ext(base) == ".pth" || slices.ContainsFunc(strings.Split(path.Dir(p), "/"), holdsRunner) || isTestLibrary(p)
}

// holdsRunner reports whether a directory of that name holds a runner's configuration, installed
// packages, or what describes packages: a runner loads its plugins by that.
func holdsRunner(dir string) bool {
	switch dir {
	case ".cargo", ".mvn", "buildSrc", "build-logic", "node_modules":
		return true
	}
	dir = strings.ToLower(dir)
	return strings.HasSuffix(dir, ".dist-info") || strings.HasSuffix(dir, ".egg-info")
}

var (
	vendoredTests = regexp.MustCompile(`(?i)(?:^|/)(?:vendor|_?vendored|third_party)/.*` +
		`(?:test|assert|mock|expect|gomega|ginkgo|convey|go-cmp|check\.v)`)
	testServices = regexp.MustCompile(`(?:^|/)META-INF/services/(?:org\.junit|org\.testng|io\.kotest|org\.spockframework)`)
	mockito      = regexp.MustCompile(`(?:^|/)mockito-extensions/`)
)

// isTestLibrary reports whether a file is part of a copied library of assertions, or adds a
// listener to a runner by its name.
func isTestLibrary(p string) bool {
	return vendoredTests.MatchString(p) || testServices.MatchString(p) || mockito.MatchString(p)
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

// jvmTestRoot is where the packages of test classes begin.
var jvmTestRoot = regexp.MustCompile(`^(?:.*/)?src/test/[^/]+/`)

// holds reports whether a test of that name can be in the file: it is of the Go package of the
// file's directory, or of a JUnit class with the file's name, or begins with the file's name.
func holds(file, test string) bool {
	if strings.HasPrefix(test+".", file+".") {
		return true
	}
	file = jvmTestRoot.ReplaceAllString(file, "")
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
