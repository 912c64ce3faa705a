package judge

import (
	"fmt"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// Reasons are public: they contain numbers, never names or words of a repository or a model.

// regressionReason is why the regression run fails the candidate, "" if it does not.
func regressionReason(d delta, base, now Report) string {
	exit := now.Counts.Exit
	switch {
	case len(d.builds) > 0:
		return "the code does not build: " + count(len(d.builds), "package", "packages")
	case len(d.broken) > 0:
		return "breaks " + count(len(d.broken), "test that passes", "tests that pass") + " on the base" + flakyLeftOut(d)
	case len(d.newFail) > 0:
		return count(len(d.newFail), "test fails", "tests fail") + " that the base does not have" + flakyLeftOut(d)
	case onlyExit(base, now):
		return fmt.Sprintf("the test command exits with %d although no test fails", exit)
	}
	return ""
}

// flakyLeftOut says how many tests were left out.
func flakyLeftOut(d delta) string {
	if len(d.flaky) == 0 {
		return ""
	}
	return "; " + count(len(d.flaky), "flaky test is", "flaky tests are") + " left out"
}

// passReason says what a candidate that passed did.
func passReason(d delta, v solve.Verdict) string {
	var parts []string
	if n := len(d.fixed); n > 0 {
		parts = append(parts, "fixes "+count(n, "test", "tests"))
	}
	if d.kept > 0 {
		parts = append(parts, "keeps "+count(d.kept, "passing test", "passing tests"))
	}
	if v.NewPass > 0 {
		parts = append(parts, "brings "+count(v.NewPass, "new passing test", "new passing tests"))
	}
	text := join(parts)
	if n := len(d.still); n > 0 {
		text += "; " + count(n, "test fails", "tests fail") + " as on the base"
	}
	text += proofWords(v)
	if len(d.fixed)+v.Proofs+v.Unready == 0 {
		text += "; no test shows the fix"
	}
	return strings.TrimPrefix(text+flakyLeftOut(d), "; ")
}

// proofWords says what the candidate's own tests show.
func proofWords(v solve.Verdict) string {
	switch {
	case v.Proofs == 1:
		return "; its own test fails without the change"
	case v.Proofs > 1:
		return fmt.Sprintf("; its own %d tests fail without the change", v.Proofs)
	case v.Unready == 1:
		return "; its own test cannot be built or loaded without the change"
	case v.Unready > 1:
		return fmt.Sprintf("; its own %d tests cannot be built or loaded without the change", v.Unready)
	}
	return ""
}

func join(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// count is "1 test" or "3 tests".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
