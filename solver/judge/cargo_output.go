package judge

import "regexp"

var (
	cargoSuite = regexp.MustCompile(`^\s+(?:Running (?:unittests |tests )?(\S+) \(|Doc-tests (\S+))`)
	cargoTest  = regexp.MustCompile(`^test (.+?)(?: - should panic)? \.\.\. (?:.*[^a-z])?(ok|FAILED|ignored)\b`)
	cargoLine  = regexp.MustCompile(` \(line \d+\)`)
	cargoBuild = regexp.MustCompile("^error: could not compile `([^`]+)`")
)

// cargoReader reads what "cargo test" prints, both streams in one. A test has the
// name of its program's source (the tests of one crate are several programs); an
// example in the documentation has none of its line, which moves with every edit.
type cargoReader struct {
	tests Report
	suite string
}

// line takes one line without its end.
func (c *cargoReader) line(line []byte) {
	if m := cargoSuite.FindSubmatch(line); m != nil {
		c.suite = string(m[1]) + string(m[2])
		return
	}
	if m := cargoBuild.FindSubmatch(line); m != nil {
		c.tests.add(clip(string(m[1]))+markBuild, Fail)
		return
	}
	m := cargoTest.FindSubmatch(line)
	if m == nil {
		return
	}
	name := cargoLine.ReplaceAllString(string(m[1]), "")
	c.tests.add(clip(c.suite+"."+name), map[string]Status{"ok": Pass, "FAILED": Fail, "ignored": Skip}[string(m[2])])
}

// end is what the lines said.
func (c *cargoReader) end() Report {
	c.tests.count()
	return c.tests
}
