package judge

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// A run of tests carries two canaries where it can: tests of the judge's own with random names,
// of which one passes and one fails. Code that makes failing tests pass, or writes the
// results itself, does the same with them. docs/decisions/0037-files-that-steer-tests.md has the reasons.

// CanaryPlace is where canaries can be put: tests ran on the base with them there.
type CanaryPlace struct {
	// Path has "*" for their file's random name. Without it they are appended to the file.
	Path string `json:"path"`
	// Head is what their file begins with.
	Head string `json:"head,omitempty"`
	// Exits says that the command failed there, as the canary that fails did.
	Exits bool `json:"exits,omitempty"`
}

// CanaryResult is how the canaries of a run came out.
type CanaryResult int

const (
	unknown CanaryResult = iota // there were none, or other tests may have stopped them
	right
	missing // they are not in the report, although nothing failed
	wrong   // the one that fails did not
)

// canaries are those of one run.
type canaries struct {
	stem, pass, fail string // random parts of names
	files            map[string]string
	kept             string // a file that they were appended to
	exits            bool   // the command fails where one of them does
}

// word is a random name that looks like any other.
func word() string { return "z" + strings.ToLower(rand.Text()[:11]) }

// plant puts canaries into the work tree; nil where there is no place for them.
func (t Trial) plant(ctx context.Context, sb sandbox.Sandbox) (*canaries, error) {
	kind := canaryKindOf(t.Test)
	if t.place == nil || kind == nil {
		return nil, nil
	}
	c := &canaries{stem: word(), pass: word(), fail: word(), files: map[string]string{}, exits: t.place.Exits}
	places, err := t.places(ctx, sb, kind)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		text := p.Head + kind.body(c)
		if !strings.Contains(p.Path, "*") {
			data, err := read(ctx, sb, p.Path)
			if err != nil {
				return nil, err
			}
			c.kept, text = p.Path, string(data)+"\n"+text
		}
		c.files[strings.Replace(p.Path, "*", c.stem, 1)] = text
	}
	return c, c.write(ctx, sb)
}

// places are the canaries' own place and those near some files; the latter alone where only tests of these run, and
// the former is in another program.
func (t Trial) places(ctx context.Context, sb sandbox.Sandbox, kind *canaryKind) ([]CanaryPlace, error) {
	if kind.near == nil {
		return []CanaryPlace{*t.place}, nil
	}
	near, err := kind.near(ctx, sb, t.near)
	if t.only != nil && len(near) > 0 {
		return near, err
	}
	return append([]CanaryPlace{*t.place}, near...), err
}

// write writes the files of the canaries. One that cannot be written is missing from the report.
func (c *canaries) write(ctx context.Context, sb sandbox.Sandbox) error {
	if c.kept != "" {
		if err := ourScript(ctx, sb, `cp -p -- "$1" "$2"`, nil, c.kept, keptSource); err != nil {
			return err
		}
	}
	for _, p := range slices.Sorted(maps.Keys(c.files)) {
		err := sb.Put(ctx, path.Join(sandbox.RepoDir, p), strings.NewReader(c.files[p]), 0o644)
		if err != nil && !errors.Is(err, sandbox.ErrPath) {
			return fmt.Errorf("put tests of the judge into the work tree: %w", err)
		}
	}
	return nil
}

// keptSource is the file that canaries were appended to, as it was.
const keptSource = sandbox.KeepDir + "/canary-source"

// remove removes the canaries, and what compilers and runners made of them.
func (c *canaries) remove(ctx context.Context, sb sandbox.Sandbox) error {
	if c == nil {
		return nil
	}
	if c.kept != "" {
		// Compilers tell by the time of a source whether they have built it: that of before is older than the canaries.
		if err := ourScript(ctx, sb, `mv -f -- "$2" "$1" && touch -- "$1"`, nil, c.kept, keptSource); err != nil {
			return err
		}
	}
	return ourScript(ctx, sb, `find . -path ./.git -prune -o -name "*$1*" -prune -exec rm -rf -- {} +`, nil, c.stem)
}

// ourScript runs a script of the judge in the work tree.
func ourScript(ctx context.Context, sb sandbox.Sandbox, text string, out *bytes.Buffer, args ...string) error {
	cmd := sandbox.Command{
		Argv: append([]string{"bash", "-c", text, "bash"}, args...), Dir: sandbox.RepoDir, MaxOutput: 8 << 20, Timeout: time.Minute,
	}
	if out != nil {
		cmd.Stdout = out
	}
	res, err := sb.Exec(ctx, cmd)
	if err != nil {
		return fmt.Errorf("tests of the judge: %w", err)
	}
	if res.ExitCode != 0 && out == nil {
		return fmt.Errorf("tests of the judge: exit %d", res.ExitCode)
	}
	return nil
}

// take removes the canaries from a report and tells how they came out. The exit code is what it
// would be without the one that fails, as far as anybody can know.
func (c *canaries) take(r *Report, exit int) int {
	if c == nil {
		return exit
	}
	passes, fails := map[string]Status{}, map[string]Status{}
	for name, s := range r.Tests {
		isPass, isFail := strings.Contains(name, c.pass), strings.Contains(name, c.fail)
		if isPass {
			passes[strings.ReplaceAll(name, c.pass, "")] = s
		} else if isFail {
			fails[strings.ReplaceAll(name, c.fail, "")] = s
		}
		if isPass || isFail || strings.Contains(name, c.stem) {
			delete(r.Tests, name)
		}
	}
	failed := map[string]Status{}
	for name, s := range r.Tests {
		if s == Fail {
			failed[name] = s
		}
	}
	switch {
	case c.lied(passes, fails), c.exits && exit == 0 && len(fails) > 0: // who writes the results himself ends the program, too
		r.Canary = wrong
	case c.everywhere(func(file string) bool { return among(fails, file) }):
		r.Canary = right
	case !c.everywhere(func(file string) bool { return among(fails, file) || among(failed, file) }):
		r.Canary = missing // a test that failed may have ended the program of the others
	}
	r.CanaryExit = exit
	if slices.Contains(exitsOfFailure, exit) && len(failed) == 0 && len(fails) > 0 {
		return 0
	}
	return exit
}

// exitsOfFailure are the exit codes for a test that failed: those of most runners, of cargo, and of xargs.
var exitsOfFailure = []int{1, 101, 123}

// everywhere reports whether all files of the canaries satisfy is.
func (c *canaries) everywhere(is func(file string) bool) bool {
	for file := range c.files {
		if !is(file) {
			return false
		}
	}
	return true
}

// among reports whether one of the tests can be in the file, or in its program.
func among(tests map[string]Status, file string) bool {
	for name := range tests {
		name, _, _ = strings.Cut(name, " [") // a mark
		if !strings.HasSuffix(file, "_test.go") || holds(file, name) {
			return true
		}
	}
	return false
}

// lied reports whether a canary that fails did not, as results of the pairs by their places tell.
func (c *canaries) lied(passes, fails map[string]Status) bool {
	for of, s := range passes {
		if s == Pass && fails[of] != Fail {
			return true
		}
	}
	return slices.Contains(slices.Collect(maps.Values(fails)), Pass)
}

// tryCanaries makes the first run of the base, with canaries. Where they do no good the run is
// made without them.
func (t Trial) tryCanaries(ctx context.Context, sb sandbox.Sandbox, log *bytes.Buffer, title string) (Report, error) {
	place, err := t.findPlace(ctx, sb)
	if err != nil {
		return Report{}, err
	}
	t.place = place
	r, err := t.run(ctx, sb, log, title)
	switch {
	case err != nil || place == nil || r.Setting != "":
		return r, err
	case r.Canary == right && r.NoVerdict == "":
		r.Canaries = &CanaryPlace{Path: place.Path, Head: place.Head, Exits: r.CanaryExit != 0}
		return r, nil
	case r.Canary == missing && r.NoVerdict == "": // the runner did not see them
		return r, nil
	}
	t.place = nil
	return t.run(ctx, sb, log, title+", without tests of the judge's own")
}

// run makes one run of this verdict in the copy that is open. If all tests run there, it has
// canaries, and run notes if they came out wrong.
func (j *judging) run(ctx context.Context, k kind) (Report, error) {
	t := j.Trial
	if k.command != "" {
		t.Test.Command = k.command
	} else {
		t.place, t.near = j.Base.Canaries, touched(j.Changes, j.testedGo)
	}
	if t.only != nil {
		t.near = t.only.files
	}
	r, err := t.run(ctx, j.sb, &j.log, k.title)
	switch {
	case err != nil || k == controlRun || j.lied != "":
	case r.Canary == wrong:
		j.lied = "a test that must fail did not fail"
	case r.Extra && !j.Base.Extra && strings.HasPrefix(k.title, regressionRun.title):
		j.lied = "there are more results than tests that ran"
	case r.Canary == missing && strings.HasPrefix(k.title, regressionRun.title) && r.NoVerdict == "":
		j.lied = "tests that must run are missing from the report"
	}
	return r, err
}

// testedGo reports whether a file is in a Go package, below the root, whose tests ran on the base.
func (j *judging) testedGo(p string) bool {
	beside := path.Join(path.Dir(p), "x_test.go")
	return path.Ext(p) == ".go" && path.Dir(p) != "." && among(j.Base.Tests, beside)
}
