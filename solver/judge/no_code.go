package judge

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/patch"
)

// noCode reports whether the patch can repair nothing: it changes only documents, tests, and the comments
// and white space of sources. What is not known for certain is code, and so are data.
//
// A patch of tests alone counts as well. Where the issue asks for tests, all good candidates
// are such patches, and this tells them from nobody; elsewhere, such a patch is no repair.
func (j *judging) noCode(ctx context.Context) (bool, error) {
	var sources []string
	for _, c := range j.Changes {
		switch {
		case c.Binary || c.Mode == "120000" || c.Mode == "160000":
			return false, nil
		case harmless(c.Path) && (c.OldPath == "" || harmless(c.OldPath)):
		case c.Op == "modify" && canStrip(c.Path):
			sources = append(sources, c.Path)
		default:
			return false, nil
		}
	}
	if len(j.Changes) == 0 || bytes.Contains(j.Patch, []byte("\nold mode ")) {
		return false, nil
	}
	for _, p := range sources {
		before, err := read(ctx, j.sb, p)
		if err != nil {
			return false, err
		}
		after, err := patch.Result(j.Patch, p, before)
		if err != nil || len(before) == maxConfig || !sameCode(p, string(before), string(after)) {
			return false, nil //nolint:nilerr // a patch that does not apply is refused where it is applied
		}
	}
	return true, nil
}

// harmless reports whether no change of the file can repair a program.
func harmless(p string) bool { return patch.IsTestFile(p) || isDocument(p) }

// isDocument reports whether a file is text for people. Programs read texts, too: where a file
// may be one of those, it is none.
func isDocument(p string) bool {
	dir, base := path.Split(strings.ToLower(p))
	if documentNames.MatchString(base) {
		return true
	}
	inDocuments, inData := false, false
	for d := range strings.SplitSeq(dir, "/") {
		inDocuments = inDocuments || !inData && slices.Contains(documentDirs, d)
		inData = inData || !inDocuments && slices.Contains(dataDirs, d)
	}
	switch path.Ext(base) {
	case ".md", ".markdown", ".rst", ".adoc", ".asciidoc":
		return !inData
	case ".txt":
		return inDocuments && !dataTexts.MatchString(base)
	}
	return false
}

var (
	documentNames = regexp.MustCompile(`^(?:(?:readme|changelog|changes|history|news|releases|authors|contributors|maintainers|` +
		`contributing|code_of_conduct|security|thanks|todo|install|upgrading|licen[sc]e|copying|notice)(?:[-_.][\w-]+)?\.` +
		`(?:md|markdown|rst|adoc|asciidoc|txt)|` +
		`readme|changelog|changes|history|news|authors|contributors|maintainers|thanks|todo|notice|(?:licen[sc]e|copying)(?:-[\w.-]+)?)$`)
	documentDirs = []string{"doc", "docs", "documentation"}
	// dataDirs hold what programs read and show.
	dataDirs = []string{"src", "lib", "app", "content", "contents", "templates", "template", "prompts", "data", "assets", "resources",
		"static", "public", "pages", "posts", "_posts", "views", "locales", "skills", "commands", "agents"}
	// dataTexts are texts that tools read.
	dataTexts = regexp.MustCompile(`requirement|constraint|^cmakelists|^robots|^packages|^versions?\b|words?|^conanfile|dictionary`)
)

// sameCode reports whether two versions of a source file differ in comments and white space only.
func sameCode(p, before, after string) bool {
	if path.Ext(p) == ".go" {
		b, okB := stripGo(before)
		a, okA := stripGo(after)
		return okA && okB && a == b
	}
	lang, ok := languageOf(p)
	if !ok {
		return false
	}
	b, okB := lang.strip(before)
	a, okA := lang.strip(after)
	return okA && okB && a == b
}

// canStrip reports whether comments can be told from code in the file's language.
func canStrip(p string) bool {
	_, ok := languageOf(p)
	return ok || path.Ext(p) == ".go"
}

// directive matches comments that tell a compiler, an interpreter or a tool what to do.
var directive = regexp.MustCompile(`^(?://export |//line |/\*line |/\*\s*globals? |[/*#!\s]*(?:` + strings.Join([]string{
	`!`, `go:`, `\+build\b`, `nolint`, `lint:`, // Go, and #!
	`type:`, `noqa`, `pragma`, `pylint`, `mypy`, `pyright`, `ruff:`, `fmt:`, `isort:`, `cython:`, `distutils:`, `doctest:`, `nosec`, // Python
	`-\*-`, `.{0,30}coding[:=]`, `frozen_string_literal`, `warn_indent`, `shareable_constant_value`, `typed:`, `rubocop:`, // Ruby
	`@ts-`, `@jsx`, `@flow`, `@noflow`, `@jest`, `@vitest`, `@vite`, `\$Flow`, `eslint`, `jshint`, `tslint`, `prettier-`, // JavaScript, CSS
	`istanbul `, `c8 `, `v8 `, `webpack`, `biome-`, `@?__(?:PURE|NO_SIDE)`, `@ ?source`, `<reference`, `<amd`, `stylelint`,
	`fall.?through`, `NOLINT`, `NOSONAR`, `clang-`, `IWYU`, `cppcheck`, `shellcheck`, `noinspection`, `@formatter`, `checkstyle`,
}, "|") + `))`)

// isDirective reports whether a comment is more than text for people.
func isDirective(comment string) bool {
	return directive.MatchString(comment[:min(len(comment), 200)]) || strings.Contains(comment, "@deprecated")
}

// pythonDocs are the words of a Python program that reads its own docstrings.
var pythonDocs = regexp.MustCompile(`__doc__|docopt|yacc|getdoc`)

// doctests are the examples in a Python docstring, which may be run.
func doctests(text string) string {
	var out strings.Builder
	example := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		example = line != "" && (example || strings.Contains(line, ">>>"))
		if example {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
