package solve

import (
	"errors"
	"fmt"
	"slices"
)

// UnprovenRule says what becomes of a champion that is unproven.
type UnprovenRule string

// The rules. They are about pull requests that a solve opens: one that is open gets every champion.
const (
	// UnprovenDraft opens a draft pull request.
	UnprovenDraft UnprovenRule = "draft"
	// UnprovenReady opens a pull request like any other.
	UnprovenReady UnprovenRule = "ready"
	// UnprovenComment opens none: the final comment tells of the candidate, and people may pick it.
	UnprovenComment UnprovenRule = "comment"
)

// CheckNames tells what is wrong with the name of a rule and of an [UnprovenRule], and which
// valid one is near.
func CheckNames(rule string, unproven UnprovenRule) (badRule, badUnproven error) {
	badRule = errors.Join(unknown("rule", []string{rule}, []string{RuleEvidence, RuleSmallest})...)
	valid := []string{string(UnprovenDraft), string(UnprovenReady), string(UnprovenComment)}
	return badRule, errors.Join(unknown("value", []string{string(unproven)}, valid)...)
}

// Precision is how many in a hundred champions of the grade were right on the published set of
// docs/evidence/judgement.md, 0 where that is not known: the set has no tests that could prove one.
func (g Grade) Precision() int {
	switch g {
	case Supported:
		return 71
	case Unproven:
		return 36
	}
	return 0
}

// Grade is the champion's, "" where there is none.
func (s Solve) Grade(runs []Run) Grade {
	if s.Decision == nil {
		return ""
	}
	return GradeOf(runs, s.Decision.Cross, s.Decision.Champion)
}

// OpensDraft says whether the champion's pull request is a draft. One that a person picked is not.
func (s Solve) OpensDraft(runs []Run) bool {
	return s.unproven() == UnprovenDraft && !s.Picked() && s.Target() == nil && s.Grade(runs) == Unproven
}

// withholds says whether a run may not become champion because it is unproven.
func (s Solve) withholds(runs []Run, d Decision) bool {
	return s.unproven() == UnprovenComment && !s.Picked() && s.Target() == nil && GradeOf(runs, d.Cross, d.Champion) == Unproven
}

// unproven is the rule that the solve was planned with. A plan of an older version has none.
func (s Solve) unproven() UnprovenRule {
	if s.Plan.Settings == nil || s.Plan.Settings.Unproven == "" {
		return UnprovenReady
	}
	return s.Plan.Settings.Unproven
}

// GradeReason says in one clause why run n has its grade; base is the name of the branch that
// the solve started from. "" where the run cannot win.
func GradeReason(runs []Run, d Decision, n int, base string) string {
	grade := GradeOf(runs, d.Cross, n)
	if grade == "" {
		return ""
	}
	v := runs[slices.IndexFunc(runs, func(r Run) bool { return r.N == n })].Verdict
	const same = "candidate of another model makes much the same change"
	agreed := newCrossMatrix(d.Cross).agreed(runs, n)
	own := ownTests(*v)
	switch {
	case grade == Proven:
		reproduction, others := d.foreignTests(runs, n)
		return provenBy(v.Fixed, reproduction, others, base)
	case grade == Supported && agreed:
		return "its own new tests fail without the change, and a candidate of another model passes them"
	case grade == Supported && own != "":
		return "a " + same + ", and " + own
	case grade == Supported:
		return "a " + same + "; no test shows the fix"
	case own != "":
		return own + ", but no other test shows that it is right, and no " + same
	default:
		return "no test shows the fix, and no " + same
	}
}

func provenBy(fixed, reproduction, foreign int, base string) string {
	switch {
	case fixed == 1:
		return "a test that fails on " + base + " passes with this change"
	case fixed > 1:
		return fmt.Sprintf("%d tests that fail on %s pass with this change", fixed, base)
	case reproduction == 1:
		return "a test that another run wrote from the issue alone fails without this change and passes with it"
	case reproduction > 1:
		return fmt.Sprintf("%d tests that another run wrote from the issue alone fail without this change and pass with it", reproduction)
	case foreign == 1:
		return "a test of another candidate fails without this change and passes with it"
	default:
		return fmt.Sprintf("%d tests of other candidates fail without this change and pass with it", foreign)
	}
}

// ownTests says whether a candidate's own tests show its change, "" if they do not.
func ownTests(v Verdict) string {
	switch {
	case v.Proofs == 1:
		return "its own new test fails without the change"
	case v.Proofs > 1:
		return fmt.Sprintf("its own %d new tests fail without the change", v.Proofs)
	case v.Unready > 0:
		return "its own new tests do not compile without the change"
	}
	return ""
}
