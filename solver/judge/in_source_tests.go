package judge

import (
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/patch"
)

// insideTest is a test inside a source, as the base has it.
type insideTest struct{ file, text string }

// weakenedInside lists the tests inside sources that ran on the base, and that the patch changes or
// removes. They cannot be put back: they stand in what they test.
func (j *judging) weakenedInside(ctx context.Context) ([]insideTest, error) {
	var out []insideTest
	for _, c := range j.Changes {
		ran := func(name string) bool { return insideOf(c.Path, name) }
		if c.Op != "modify" || !slices.ContainsFunc(slices.Collect(maps.Keys(j.Base.Tests)), ran) {
			continue
		}
		before, err := read(ctx, j.sb, c.Path)
		if err != nil {
			return nil, err
		}
		after, err := patch.Result(j.Patch, c.Path, before)
		if err != nil {
			continue // a patch that does not apply is refused where it is applied
		}
		kept := testsInside(c.Path, string(after))
		for _, test := range testsInside(c.Path, string(before)) {
			if !slices.Contains(kept, test) {
				out = append(out, insideTest{c.Path, test})
			}
		}
	}
	return out, nil
}

// reports reports whether the result of that name can be the test's.
func (t insideTest) reports(name string) bool {
	function := name[strings.LastIndex(name, ":")+1:]
	return insideOf(t.file, name) && (!rustTestBegins.MatchString(t.text) || strings.Contains(t.text, "fn "+function+"("))
}

// insideOf reports whether a test of that name can stand in a source: cargo names the root of the
// program and then modules, or the file of an example; pytest and vitest name the file.
func insideOf(file, test string) bool {
	stem := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if path.Ext(file) == ".rs" {
		program, module, inProgram := strings.Cut(test, ".rs.")
		if stem == "mod" {
			stem = path.Base(path.Dir(file))
		}
		in := stem == "lib" || stem == "main" || strings.Contains(module, stem+"::")
		return strings.Contains(test, file+" - ") || inProgram && in && !patch.IsTestFile(program+".rs")
	}
	return holds(file, test) || strings.HasPrefix(test, file+".")
}

var (
	rustTestBegins = regexp.MustCompile(`^#\[(?:\w+::)*test\b`)
	jsTestBegins   = regexp.MustCompile(`^(?:test|it)(?:\.\w+)*\(`)
)

// testsInside are the tests in the text of a source, without white space at the ends of lines.
func testsInside(p, text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	switch path.Ext(p) {
	case ".rs":
		return append(bracketed(lines, rustTestBegins, "{", "}"), fenced(lines)...)
	case ".py", ".pyi":
		return pythonExamples(lines)
	case ".js", ".mjs", ".jsx", ".ts", ".mts", ".tsx":
		if strings.Contains(text, "import.meta.vitest") {
			return bracketed(lines, jsTestBegins, "({", ")}")
		}
	}
	return nil
}

// bracketed are the parts from a line that begins a test to where its brackets are closed.
func bracketed(lines []string, begins *regexp.Regexp, open, closed string) []string {
	var out []string
	for i := 0; i < len(lines); i++ {
		if !begins.MatchString(lines[i]) {
			continue
		}
		depth, opened, first := 0, false, i
		for ; i < len(lines); i++ {
			for _, r := range lines[i] {
				if strings.ContainsRune(open, r) {
					depth, opened = depth+1, true
				} else if strings.ContainsRune(closed, r) {
					depth--
				}
			}
			if opened && depth <= 0 {
				break
			}
		}
		out = append(out, strings.Join(lines[first:min(i+1, len(lines))], "\n"))
	}
	return out
}

// fenced are the examples in Rust's comments.
func fenced(lines []string) []string {
	var out []string
	first := -1
	for i, line := range lines {
		mark := strings.HasPrefix(line, "//") && strings.HasPrefix(strings.TrimLeft(line, "/! "), "```")
		if mark && first >= 0 {
			out = append(out, strings.Join(lines[first:i], "\n"))
			first = -1
		} else if mark {
			first = i
		}
	}
	return out
}

// pythonExamples are the examples in Python's docstrings, each with what it must print.
func pythonExamples(lines []string) []string {
	var out []string
	inside := false
	for _, line := range lines {
		switch begins := strings.HasPrefix(line, ">>> "); {
		case begins:
			out = append(out, line)
			inside = true
		case line == "" || strings.Contains(line, `"""`) || strings.Contains(line, "'''"):
			inside = false
		case inside:
			out[len(out)-1] += "\n" + line
		}
	}
	return out
}
