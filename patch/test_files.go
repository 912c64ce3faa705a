package patch

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// IsTestFile says whether a repository path is a test by the habits of its
// language: the test itself, its helpers, its data and its snapshots. The judge
// puts the base's version of these back, so a name that tests and programs
// share ("spec" in general, "testing") does not count.
func IsTestFile(p string) bool {
	dir, base := path.Split(p)
	parts := strings.FieldsFunc(strings.ToLower(dir), func(r rune) bool { return r == '/' })
	return slices.ContainsFunc(parts, isTestDir) || isTestDirOf(parts, base) || isTestName(base) || isHelper(base)
}

// helper is the name of code that helps tests.
var helper = regexp.MustCompile(`^test[-_]?(?:utils?|utilities|helpers?|support|libs?|fixtures?)$`)

// isHelper says whether a source file has the name of a helper of tests: testutil.go, testHelpers.js.
func isHelper(base string) bool {
	stem := strings.ToLower(strings.TrimSuffix(base, path.Ext(base)))
	return path.Ext(base) != "" && helper.MatchString(stem)
}

// isTestDir says whether everything in a directory of that name belongs to tests.
func isTestDir(name string) bool {
	switch name {
	case "test", "tests", "testdata", "__tests__", "__test__", "__snapshots__", "__mocks__", "__fixtures__",
		"fixtures", "snapshots", "golden", "cassettes", "test_data", "test-data", "e2e",
		"androidtest", "integration-tests", "integration_tests", "unittest", "unittests":
		return true
	}
	if helper.MatchString(name) {
		return true
	}
	// C#: Shop.Tests, Shop.UnitTests.
	return strings.HasSuffix(name, ".tests") || strings.HasSuffix(name, ".test") ||
		strings.HasSuffix(name, ".unittests") || strings.HasSuffix(name, ".integrationtests")
}

// isTestDirOf knows the directories that are tests for some languages only.
func isTestDirOf(parts []string, base string) bool {
	if i := slices.Index(parts, "internal"); i >= 0 && i+1 < len(parts) && strings.HasPrefix(parts[i+1], "test") {
		return true // internal/testenv of a Go module
	}
	if !slices.Contains(parts, "spec") {
		return false
	}
	switch path.Ext(base) {
	case ".rb", ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs":
		return true
	}
	return base == ".rspec"
}

// isTestName says whether the name alone makes a file a test.
func isTestName(base string) bool {
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	ends := func(suffixes ...string) bool {
		return slices.ContainsFunc(suffixes, func(s string) bool { return stem != s && strings.HasSuffix(stem, s) })
	}
	switch ext {
	case ".go":
		return strings.HasSuffix(stem, "_test")
	case ".py":
		return strings.HasPrefix(stem, "test_") || ends("_test", "_tests") || stem == "tests" || stem == "conftest"
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte":
		return ends(".test", ".spec", ".cy", ".e2e", "_test", "_spec", "-test", "-spec")
	case ".rs":
		return ends("_test", "_tests") || stem == "tests"
	case ".java", ".kt", ".kts", ".scala", ".groovy":
		return ends("Test", "Tests", "TestCase", "IT", "Spec") || beginsWord(stem, "Test")
	case ".rb":
		return ends("_test", "_spec") || strings.HasPrefix(stem, "test_") ||
			slices.Contains([]string{"spec_helper", "rails_helper", "test_helper"}, stem)
	case ".php", ".cs", ".fs", ".vb":
		return ends("Test", "Tests", "TestCase", "Cest")
	default:
		return ext == ".phpt" || ext == ".snap" || ext == ".ambr"
	}
}

// beginsWord says whether a camel-case name begins with the word: TestUser, not Testimonial.
func beginsWord(name, word string) bool {
	rest, ok := strings.CutPrefix(name, word)
	return ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z'
}

// IsTestConfig says whether a file decides which tests run and how. Files that
// hold much else, too (pyproject.toml, package.json, Makefile), do not count:
// putting the base's version of those back would undo honest changes.
func IsTestConfig(p string) bool {
	base := strings.ToLower(path.Base(p))
	switch base {
	case "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "conftest.py", "tox.ini", "setup.cfg", "noxfile.py", ".coveragerc",
		".rspec", "phpunit.xml", "phpunit.xml.dist", "pest.php", "codeception.yml", "jasmine.json", "testng.xml",
		"junit-platform.properties", "nextest.toml", ".runsettings", "xunit.runner.json":
		return true
	}
	if strings.HasPrefix(base, ".") {
		stem, _, _ := strings.Cut(base[1:], ".")
		return stem == "mocharc" || stem == "nycrc" || stem == "c8rc" || stem == "jestrc" || stem == "taprc"
	}
	for _, name := range []string{"jest.config", "jest.setup", "jest.preset", "setuptests", "setupjest", "test-setup",
		"vitest.config", "vitest.workspace", "vitest.setup", "karma.conf",
		"playwright.config", "cypress.config", "ava.config", "nightwatch.conf", "wdio.conf"} {
		if strings.HasPrefix(base, name+".") {
			return true
		}
	}
	return strings.HasSuffix(base, ".runsettings")
}
