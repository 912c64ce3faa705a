package judge

import (
	"regexp"
	"strconv"
)

// Outputs by which runners without a report say that they could not run
// anything, or found nothing to run.
var (
	missingProgram = regexp.MustCompile(`^make(?:\[\d+\])?: \*\*\* .*Error 12[67]$`)
	noTests        = regexp.MustCompile(
		`^(?:Error: no test specified|No tests? (?:found|files found).*|no tests ran in .*|# tests 0|ℹ tests 0)$`)
	cargoRan = regexp.MustCompile(`^test result: \w+\. (\d+) passed; (\d+) failed`)
)

// exitReader reads the output of a run of which only the exit code counts.
type exitReader struct {
	missing, none bool
	ran           bool // cargo said how many tests ran
	tests         int
}

func (e *exitReader) line(line []byte, _ bool) []byte {
	text := trimEnd(line)
	e.missing = e.missing || missingProgram.Match(text)
	e.none = e.none || noTests.Match(text)
	if m := cargoRan.FindSubmatch(text); m != nil {
		e.ran = true
		for _, n := range m[1:] {
			v, _ := strconv.Atoi(string(n)) // digits by the pattern
			e.tests += v
		}
	}
	return line
}

func (e *exitReader) report(exit int) (Report, error) {
	switch {
	case e.missing:
		return Report{NoVerdict: "the test command could not be run: make did not find one of its programs"}, nil
	case e.none, e.ran && exit == 0 && e.tests == 0:
		return Report{NoVerdict: "no tests were found", Empty: true}, nil
	}
	return Report{}, nil
}
