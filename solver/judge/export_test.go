package judge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/tree"
)

// Steers lists the files of a candidate that are put back and are no tests. It leaves the base as it was.
func Steers(ctx context.Context, sb sandbox.Sandbox, in Input) ([]string, error) {
	j := judging{Input: in, sb: sb}
	s, err := j.steering(ctx)
	if err != nil {
		return nil, err
	}
	if err := tree.ApplyPatch(ctx, sb, in.Patch); err != nil {
		return nil, err
	}
	found := steers(s.find(ctx, sb))
	if err := tree.RestoreTests(ctx, sb, touched(in.Changes, func(string) bool { return true })); err != nil {
		return nil, err
	}
	return found, ourScript(ctx, sb, "find . -mindepth 1 -type d -empty -not -path './.git/*' -delete", nil)
}

// Selected is the command for the tests of some files, and whether the runner can be asked for all of them.
func Selected(cmd solve.TestCommand, files, names []string) (string, bool) {
	return selected(cmd, files, names)
}

// FilesOf are the files of which one has the test of a report.
func FilesOf(test string, paths []string) []string { return filesOf(test, paths) }

// Parse reads the results of one run of the test command from its standard output and the
// content of its report files.
func Parse(cmd solve.TestCommand, exit int, output []byte, files [][]byte) (Report, error) {
	f, ok := formats[cmd.Format]
	if !ok {
		return Report{}, fmt.Errorf("unknown test format %q", cmd.Format)
	}
	var r Report
	var err error
	if f.file != nil {
		for _, data := range files {
			err = errors.Join(err, f.file(&r, bytes.NewReader(data)))
		}
		return r.finish(cmd, exit, err)
	}
	o := outputReader{results: f.output()}
	w := o.stdout()
	w.Write(output)
	w.flush()
	r, err = o.results.report(exit)
	return r.finish(cmd, exit, err)
}

// SameCode reports whether two versions of a source file differ in comments and white space only.
func SameCode(p, before, after string) bool { return sameCode(p, before, after) }

// IsDocument reports whether a file is text for people.
func IsDocument(p string) bool { return isDocument(p) }

// CanaryPath is where canaries of a command would be put first, "" for nowhere.
func CanaryPath(cmd solve.TestCommand, paths []string) string {
	kind := canaryKindOf(cmd)
	if kind == nil {
		return ""
	}
	places, _ := kind.places(paths)
	return strings.Join(places[:min(len(places), 1)], "")
}

// WeakenedInside are the tests inside the source before that it does not have after.
func WeakenedInside(p, before, after string) []string {
	kept := testsInside(p, after)
	return slices.DeleteFunc(testsInside(p, before), func(test string) bool { return slices.Contains(kept, test) })
}

// InsideOf reports whether a test of that name can stand in a source.
func InsideOf(file, test string) bool { return insideOf(file, test) }
