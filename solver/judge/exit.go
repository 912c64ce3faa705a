package judge

import (
	"bytes"
	"regexp"
	"strconv"
)

// Outputs by which runners without a report say that they could not run
// anything, or found nothing to run.
var (
	missingProgram = regexp.MustCompile(`(?m)^make(?:\[\d+\])?: \*\*\* .*Error 12[67]$`)
	noTests        = regexp.MustCompile(`(?m)^(?:Error: no test specified|No tests? (?:found|files found).*|no tests ran in .*|# tests 0|ℹ tests 0)$`)
	cargoRan       = regexp.MustCompile(`(?m)^test result: \w+\. (\d+) passed; (\d+) failed`)
)

// parseExit reads a run of which only the exit code counts.
func parseExit(exit int, output []byte) Report {
	var r Report
	if missingProgram.Match(output) {
		r.NoVerdict = "the test command could not be run: make did not find one of its programs"
		return r
	}
	if noTests.Match(output) {
		r.NoVerdict, r.Empty = "no tests were found", true
		return r
	}
	if ran := cargoRan.FindAllSubmatch(output, -1); len(ran) > 0 && exit == 0 {
		total := 0
		for _, m := range ran {
			for _, n := range m[1:] {
				v, _ := strconv.Atoi(string(bytes.TrimSpace(n))) // digits by the pattern
				total += v
			}
		}
		if total == 0 {
			r.NoVerdict, r.Empty = "no tests were found", true
		}
	}
	return r
}
