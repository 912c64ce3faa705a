// Package judge finds out how a repository is tested, runs its tests in a
// sandbox, reads the results test by test, and gives a verdict on a patch by
// comparing them with the base's own.
//
// The judge's sandbox is not the agent's: it holds a clean copy of the base and the patch,
// nothing else. What cannot be run or read is "no verdict", never a failure and never a pass.
// docs/decisions/0002-verdict.md has the reasons.
package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// Status of one test.
type Status string

// The results of a test.
const (
	Pass Status = "pass"
	Fail Status = "fail"
	Skip Status = "skip"
	// Flaky is a test whose results differ between runs on one tree. It is ignored.
	Flaky Status = "flaky"
)

// Report is what one run of the tests said.
type Report struct {
	// Tests by name: "package.Test/sub" for Go, "class.name" for JUnit. A name that ends in
	// a mark in brackets is no test: it is a package that does not build, or a file that
	// cannot be loaded.
	Tests  map[string]Status `json:"tests,omitempty"`
	Counts solve.Counts      `json:"counts"`
	// Runs is how many runs on one tree these results come from; 0 is 1.
	Runs int `json:"runs,omitempty"`
	// NoVerdict is why the tests could not be run or read, as a public sentence
	// without its full stop; "" if they could.
	NoVerdict string `json:"no_verdict,omitempty"`
	// Setting is the key of config.yml that cut the run short, if one did.
	Setting string `json:"setting,omitempty"`
	// Canaries is where canaries can be put: the base's tests ran with them, and they came out right.
	Canaries *CanaryPlace `json:"canaries,omitempty"`
	// Extra says that programs printed more results than they had announced: something else printed some.
	Extra bool `json:"extra,omitempty"`
	// Canary is how those of this run came out.
	Canary CanaryResult `json:"-"`
	// CanaryExit is the exit code of the command with them.
	CanaryExit int `json:"-"`
	// Empty says that NoVerdict is set because there are no tests at all.
	Empty bool `json:"empty,omitempty"`
}

// Marks of names that are no tests, after the name of the package or file. A marked name
// passes as soon as its package or file has a passing test.
const (
	markBuild   = " [build]"   // the package does not build
	markPackage = " [package]" // it failed outside any test
	markCollect = " [collect]" // the file cannot be loaded by the runner
)

// Encode writes the report for the store.
func (r Report) Encode() ([]byte, error) { return json.Marshal(r) }

// DecodeReport reads what Encode wrote.
func DecodeReport(data []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return Report{}, fmt.Errorf("decode test report: %w", err)
	}
	return r, nil
}

// count fills in the counts of the tests.
func (r *Report) count() {
	r.Counts.Passed, r.Counts.Failed, r.Counts.Skipped, r.Counts.Flaky = 0, 0, 0, 0
	for _, s := range r.Tests {
		switch s {
		case Pass:
			r.Counts.Passed++
		case Fail:
			r.Counts.Failed++
		case Skip:
			r.Counts.Skipped++
		case Flaky:
			r.Counts.Flaky++
		}
	}
}

// add notes one result. Of several under one name the worst counts. Of more than maxTests
// names the rest is dropped, and finish refuses the report.
func (r *Report) add(name string, s Status) {
	if len(r.Tests) > maxTests {
		return
	}
	if r.Tests == nil {
		r.Tests = map[string]Status{}
	}
	worse := map[Status]int{"": 0, Skip: 1, Pass: 2, Fail: 3}
	if worse[s] > worse[r.Tests[name]] {
		r.Tests[name] = s
	}
}

// Bounds on a report that hostile tests wrote.
const (
	maxTests = 200_000
	maxName  = 1000 // bytes of one name
)

// errTooMany says that a report is beyond the bounds.
var errTooMany = errors.New("more tests than a report may have")

// clip bounds a name and makes it valid UTF-8.
func clip(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "")
}

// format is a way to write test results: to files, or to the output.
type format struct {
	file   func(r *Report, data io.Reader) error // adds the results of one report file
	output func() resultReader
}

var formats = map[string]format{
	"go":    {output: newGoReader},
	"tap":   {output: func() resultReader { return &tapReader{} }},
	"cargo": {output: func() resultReader { return &cargoReader{} }},
	"exit":  {output: func() resultReader { return &exitReader{} }},
	"junit": {file: (*Report).junitFile},
	"jest":  {file: (*Report).jestFile},
}

// finish is the report of a run that ended with the exit code.
func (r Report) finish(cmd solve.TestCommand, exit int, err error) (Report, error) {
	if len(r.Tests) > maxTests {
		err = errors.Join(err, errTooMany)
	}
	if err != nil {
		return Report{Counts: solve.Counts{Exit: exit}}, fmt.Errorf("read the tests' report: %w", err)
	}
	r.count()
	r.Counts.Exit = exit
	r.setNoVerdict(cmd.Format)
	return r, nil
}

// setNoVerdict sets NoVerdict where the results say nothing.
func (r *Report) setNoVerdict(format string) {
	switch exit := r.Counts.Exit; {
	case r.NoVerdict != "":
	case exit == 126 || exit == 127:
		r.NoVerdict = fmt.Sprintf("the test command could not be run (exit code %d: a program is missing or not executable)", exit)
	case format == "exit":
	case len(r.Tests) == 0 && exit != 0 && !(format == "junit" && exit == 5):
		r.NoVerdict = fmt.Sprintf("the test command ended with exit code %d and reported no test", exit)
	case len(r.Tests) == 0:
		r.NoVerdict, r.Empty = "no tests were found", true
	case r.Counts.Passed+r.Counts.Failed == 0:
		r.NoVerdict, r.Empty = "every test was skipped", true
	}
}
