package judge

import (
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// delta is one report against the base's own, test by test; the lists are sorted.
type delta struct {
	fixed   []string // failed on the base, pass now
	kept    int      // passed on the base, pass now
	broken  []string // passed on the base; fail, are skipped or are gone now
	still   []string // failed on the base; fail, are skipped or are gone now
	newPass []string // the base does not have them, pass now
	newFail []string // the base has no result for them, fail now
	builds  []string // packages that do not build now, and did or were not there on the base
	flaky   []string // left out of all others
}

// compare compares now with base. A test that the base skipped has no result there: it counts
// if it fails now, and is no new test if it passes.
func compare(base, now Report) delta {
	var d delta
	for name, was := range base.Tests {
		is := now.Tests[name]
		switch {
		case was == Flaky:
			d.flaky = append(d.flaky, name)
		case was == Pass && is == Pass:
			d.kept++
		case was == Pass:
			d.broken = append(d.broken, name)
		case was == Fail && (is == Pass || is == "" && now.passesNow(name)):
			d.fixed = append(d.fixed, name)
		case was == Fail:
			d.still = append(d.still, name)
		case is == Fail: // skipped on the base, and run now
			d.fresh(name, is)
		}
	}
	for name, is := range now.Tests {
		if _, known := base.Tests[name]; !known {
			d.fresh(name, is)
		}
	}
	for _, list := range []*[]string{&d.fixed, &d.broken, &d.still, &d.newPass, &d.newFail, &d.builds, &d.flaky} {
		slices.Sort(*list)
	}
	return d
}

// fresh notes a test that has no result on the base.
func (d *delta) fresh(name string, is Status) {
	switch is {
	case Pass:
		d.newPass = append(d.newPass, name)
	case Fail:
		d.newFail = append(d.newFail, name)
		if pkg, ok := strings.CutSuffix(name, markBuild); ok {
			d.builds = append(d.builds, pkg)
		}
	}
}

// passesNow reports whether the package or file of a marked name has a passing test now.
func (r Report) passesNow(name string) bool {
	for _, mark := range []string{markBuild, markPackage, markCollect} {
		of, ok := strings.CutSuffix(name, mark)
		if !ok {
			continue
		}
		for test, s := range r.Tests {
			if s == Pass && strings.HasPrefix(test, of+".") {
				return true
			}
		}
	}
	return false
}

// shown is how many names a list of a verdict holds.
const shown = 50

// fill puts the regression's comparison into the verdict.
func (d delta) fill(v *solve.Verdict) {
	v.Fixed, v.Kept, v.Broken, v.Still = len(d.fixed), d.kept, len(d.broken), len(d.still)
	v.NewPass, v.NewFail, v.Flaky = len(d.newPass), len(d.newFail), len(d.flaky)
	v.FixedTests, v.BrokenTests, v.StillTests, v.NewFailTests = first(d.fixed), first(d.broken), first(d.still), first(d.newFail)
	v.FlakyTests = first(d.flaky)
}

func first(names []string) []string { return slices.Clone(names[:min(len(names), shown)]) }
