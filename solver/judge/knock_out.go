package judge

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
)

// knockOut undoes the candidate's source and keeps everything else of it. The fixed tests must
// fail again. If all of them pass, each time, it is not the source that makes them pass; of
// those that pass while others fail, the candidate has weakened the files. It returns what the
// candidate has fixed: nothing that passes on the base by now.
//
// A candidate of which nothing would be kept, or nothing but documents undone, needs no run: it is
// the base, or the run that there was. A fixed test named "" is the command.
func (j *judging) knockOut(ctx context.Context, fixed []string) ([]string, error) {
	undone := j.undone(knockOutRun)
	source := slices.ContainsFunc(undone, func(p string) bool { return !isDocument(p) })
	if len(fixed) == 0 || !source || len(undone) == len(touched(j.Changes, anyFile)) {
		return fixed, nil
	}
	passing := fixed
	if j.without != nil && len(undone) == len(j.undone(withoutRun)) {
		passing = j.without.passingOf(fixed)
	}
	for n := 0; n < max(j.Tries, 1) && len(passing) > 0; n++ {
		r, err := j.runFresh(ctx, knockOutRun)
		if err != nil {
			return nil, err
		}
		passing = r.passingOf(passing)
	}
	if len(passing) < len(fixed) {
		j.weakenedBy(passing)
		return fixed, nil
	}
	r, err := j.runFresh(ctx, controlRun)
	if err != nil || len(r.passingOf(fixed)) == len(fixed) {
		return nil, err
	}
	j.lied = cmp.Or(j.lied, "what it fixes passes without its change of the source, too")
	return fixed, nil
}

// passingOf lists those of the tests that pass in r.
func (r Report) passingOf(tests []string) []string {
	return slices.DeleteFunc(slices.Clone(tests), func(name string) bool {
		if name == "" {
			return r.NoVerdict != "" || r.Counts.Exit != 0
		}
		return r.Tests[name] != Pass
	})
}

// loadedByPresence lists the new files that are neither code nor known to steer tests, in the
// root or below a hidden directory: some program may load them because they are there.
func (j *judging) loadedByPresence() []string {
	var out []string
	for _, c := range j.Changes {
		hidden := strings.HasPrefix(c.Path, ".") || strings.Contains(c.Path, "/.")
		if (c.Op == "add" || c.Op == "rename") && (hidden || path.Dir(c.Path) == ".") && !canStrip(c.Path) {
			out = append(out, c.Path)
		}
	}
	return out
}

func anyFile(string) bool { return true }

// undone lists the files of the patch that a run has in the base's version.
func (j *judging) undone(k kind) []string {
	kept := j.own
	switch {
	case k.source && k.tests:
		return nil
	case k.source:
		return j.own
	case k.loaded:
		kept = slices.Concat(j.own, j.loadedByPresence())
	}
	return touched(j.Changes, func(p string) bool { return !slices.Contains(kept, p) })
}
