package judge_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// player is a sandbox in which the test command gives one prepared result after
// another; all else succeeds and does nothing.
type player struct {
	sandbox.Sandbox
	t     *testing.T
	plays []string // "a+ b- c~": passes, fails, skipped; "%" is a space; "!3" the exit code, "hang" the timeout
	files string   // in the work tree, one a line
	made  int      // runs
	calls []string // the test command of each
}

// Get finds no file.
func (c *copied) Get(context.Context, string) (io.ReadCloser, error) { return nil, fs.ErrNotExist }

// Exec plays one command.
func (p *player) Exec(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	if c.Shell == "" {
		if strings.Contains(strings.Join(c.Argv, " "), "find . -type d") {
			io.WriteString(c.Stdout, p.files)
		} else if c.Stdout != nil && p.made > 0 {
			c.Stdout.Write(archive(p.t, tar.TypeReg, results(p.plays[p.made-1])))
		}
		return sandbox.Result{}, nil
	}
	if p.made++; p.made > len(p.plays) {
		p.t.Errorf("a run of the tests too many: %d", p.made)
		p.made = len(p.plays)
	}
	p.calls = append(p.calls, c.Shell)
	play := p.plays[p.made-1]
	if play == "hang" {
		return sandbox.Result{ExitCode: -1, TimedOut: true}, nil
	}
	if _, text, ok := strings.Cut(play, "!"); ok {
		code, err := strconv.Atoi(text)
		must(p.t, err)
		return sandbox.Result{ExitCode: code}, nil
	}
	if strings.Contains(play, "-") {
		return sandbox.Result{ExitCode: 1}, nil
	}
	return sandbox.Result{}, nil
}

// Get finds no file.
func (p *player) Get(context.Context, string) (io.ReadCloser, error) { return nil, fs.ErrNotExist }

// results is the JUnit file of one play.
func results(play string) string {
	var b strings.Builder
	b.WriteString("<testsuite>")
	for word := range strings.FieldsSeq(play) {
		name, inner := word[:len(word)-1], map[byte]string{'-': "<failure/>", '~': "<skipped/>"}[word[len(word)-1]]
		if name = strings.ReplaceAll(name, "%", " "); !strings.HasPrefix(word, "!") {
			fmt.Fprintf(&b, "<testcase name=%q>%s</testcase>", name, inner)
		}
	}
	b.WriteString("</testsuite>")
	return b.String()
}

// copies are the copies of the base in which a candidate is judged.
type copies struct {
	candidate *player // plays the runs with a patch
	base      *player // plays the runs without, the candidate's player if it is nil
	opened    int
	open      int
	most      int // runs of the tests in one copy
}

// Open opens another.
func (c *copies) Open(context.Context) (sandbox.Sandbox, func(), error) {
	if c.open++; c.open > 1 {
		return nil, nil, errors.New("another copy is open")
	}
	c.opened++
	return &copied{of: c}, func() { c.open-- }, nil
}

// copied is one of the copies.
type copied struct {
	sandbox.Sandbox
	of      *copies
	patched bool
	runs    int
}

// Exec plays one command.
func (c *copied) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	c.patched = c.patched || strings.Contains(strings.Join(cmd.Argv, " "), "git apply")
	if cmd.Shell != "" {
		c.runs++
		c.of.most = max(c.of.most, c.runs)
	}
	if !c.patched && c.of.base != nil {
		return c.of.base.Exec(ctx, cmd)
	}
	return c.of.candidate.Exec(ctx, cmd)
}

// trial plays the base's runs and then the candidate's, and reports how many of each were made.
func trial(t *testing.T, format string, tries int, changes, base, runs []string) (rep judge.Report, v solve.Verdict, made [2]int) {
	t.Helper()
	how := judge.Trial{Test: solve.TestCommand{Command: "t", Format: format, Report: "r.xml"}, Tries: tries}
	b := &player{t: t, plays: base}
	rep, _, err := judge.RunBase(t.Context(), b, how)
	must(t, err)
	c := &copies{candidate: &player{t: t, plays: runs}}
	v = judged(t, c, judge.Input{Trial: how, Base: rep}, changes...).Verdict
	return rep, v, [2]int{b.made, c.candidate.made}
}

// judged is the verdict on a patch that changes these files. Each of its runs has a copy of its own.
func judged(t *testing.T, c *copies, in judge.Input, changes ...string) judge.Result {
	t.Helper()
	in.Patch, in.Open = []byte("x"), c.Open
	for _, p := range changes {
		in.Changes = append(in.Changes, solve.FileChange{Path: p, Op: "modify"})
	}
	res, err := judge.Judge(t.Context(), in)
	must(t, err)
	if c.open != 0 || c.most > 1 {
		t.Errorf("%d copies are open at the end, and the tests ran %d times in one", c.open, c.most)
	}
	return res
}

func TestFlakyTestsDecideNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tries      int // 2
		changes    []string
		base, runs []string
		outcome    solve.Outcome
		reason     string
		flaky      []string
		made       [2]int
	}{
		"nothing flaky, green base": {
			base: []string{"a+ b+"}, runs: []string{"a+ b+"}, made: [2]int{1, 1},
			outcome: solve.Passed, reason: "keeps 2 passing tests; no test shows the fix",
		},
		"nothing flaky, red base": {
			base: []string{"a+ b-", "a+ b-"}, runs: []string{"a+ b+"}, made: [2]int{2, 1},
			outcome: solve.Passed, reason: "fixes 1 test and keeps 1 passing test",
		},
		"the base's failure is flaky": {
			base: []string{"a+ b-", "a+ b+"}, runs: []string{"a+ b+"}, made: [2]int{2, 1},
			outcome: solve.Passed, reason: "keeps 1 passing test; no test shows the fix; 1 flaky test is left out", flaky: []string{"b"},
		},
		"a flaky test is no fix": {
			base: []string{"a- b- c+", "a- b+ c+"}, runs: []string{"a- b+ c+"}, made: [2]int{2, 1},
			outcome: solve.Passed, reason: "keeps 1 passing test; 1 test fails as on the base; no test shows the fix; 1 flaky test is left out", flaky: []string{"b"},
		},
		"a flaky test is not broken": {
			base: []string{"a- b- c+", "a- b+ c+"}, runs: []string{"a+ b- c+"}, made: [2]int{2, 1},
			outcome: solve.Passed, reason: "fixes 1 test and keeps 1 passing test; 1 flaky test is left out", flaky: []string{"b"},
		},
		"sometimes skipped, sometimes gone": {
			base: []string{"a- b~ c+ d+", "a- b+ d+"}, runs: []string{"a+ d+"}, made: [2]int{2, 1},
			outcome: solve.Passed, reason: "fixes 1 test and keeps 1 passing test; 2 flaky tests are left out", flaky: []string{"b", "c"},
		},
		"more tries find more": {
			tries: 4, base: []string{"a- b- c+", "a- b- c+", "a- b+ c-", "a- b- c+"}, runs: []string{"a+ b- c-"}, made: [2]int{4, 1},
			outcome: solve.Passed, reason: "fixes 1 test; 2 flaky tests are left out", flaky: []string{"b", "c"},
		},
		"no more tries than needed": {
			tries: 4, base: []string{"a+ b-", "a+ b+"}, runs: []string{"a- b+", "a- b+", "a- b+", "a- b+"}, made: [2]int{2, 4},
			outcome: solve.Failed, reason: "breaks 1 test that passes on the base; 1 flaky test is left out", flaky: []string{"b"},
		},
		"one try believes what it sees": {
			tries: 1, base: []string{"a- b+"}, runs: []string{"a+ b-"}, made: [2]int{1, 1},
			outcome: solve.Failed, reason: "breaks 1 test that passes on the base",
		},
		"a hanging repeat of the base says nothing": {
			base: []string{"a- b+", "hang"}, runs: []string{"a+ b+"}, made: [2]int{2, 1},
			outcome: solve.Passed, reason: "fixes 1 test and keeps 1 passing test",
		},
		"fails once with the candidate": {
			base: []string{"a+ b+"}, runs: []string{"a+ b-", "a+ b+", "a+ b+"}, made: [2]int{1, 3},
			outcome: solve.Passed, reason: "keeps 1 passing test; no test shows the fix; 1 flaky test is left out", flaky: []string{"b"},
		},
		"fails each time with the candidate": {
			base: []string{"a- b+", "a- b+"}, runs: []string{"a+ b-", "a+ b-"}, made: [2]int{2, 2},
			outcome: solve.Failed, reason: "breaks 1 test that passes on the base",
		},
		"another one fails each time": {
			base: []string{"a- b+ c+", "a- b+ c+"}, runs: []string{"a+ b- c+", "a+ b+ c-"}, made: [2]int{2, 2},
			outcome: solve.Passed, reason: "fixes 1 test and keeps 1 passing test; 1 flaky test is left out", flaky: []string{"b"},
		},
		"gone each time is broken": {
			base: []string{"a- b+", "a- b+"}, runs: []string{"a+", "a+ b~"}, made: [2]int{2, 2},
			outcome: solve.Failed, reason: "breaks 1 test that passes on the base",
		},
		"a hanging repeat leaves the failure": {
			base: []string{"a- b+", "a- b+"}, runs: []string{"a+ b-", "hang"}, made: [2]int{2, 2},
			outcome: solve.Failed, reason: "breaks 1 test that passes on the base",
		},
		"a test that works once only": { // it leaves something behind
			base: []string{"a+ b+"}, runs: []string{"a+ b-", "a+ b-", "a+ b-"}, made: [2]int{1, 3},
			outcome: solve.Passed, reason: "keeps 1 passing test; no test shows the fix; 1 flaky test is left out", flaky: []string{"b"},
		},
		"broken on a base that was run once": {
			base: []string{"a+ b+"}, runs: []string{"a+ b-", "a+ b-", "a+ b+"}, made: [2]int{1, 3},
			outcome: solve.Failed, reason: "breaks 1 test that passes on the base",
		},
		"a name that is never the same": {
			base: []string{"a+ t17+"}, runs: []string{"a+ t18+", "a+ t19+", "a+ t20+"}, made: [2]int{1, 3},
			outcome: solve.Passed, reason: "keeps 1 passing test and brings 1 new passing test; no test shows the fix; 2 flaky tests are left out", flaky: []string{"t17", "t20"},
		},
		"its own test fails once": {
			changes: []string{"a_test.py"}, base: []string{"a- b+", "a- b+"}, runs: []string{"a+ b+", "a+ b+ mine-", "a+ b+ mine+"}, made: [2]int{2, 3},
			outcome: solve.Passed, reason: "fixes 1 test and keeps 1 passing test; 1 flaky test is left out", flaky: []string{"mine"},
		},
		"its own test fails each time": {
			changes: []string{"a_test.py"}, base: []string{"a- b+", "a- b+"}, runs: []string{"a+ b+", "a+ b+ mine-", "a+ b+ mine-"}, made: [2]int{2, 3},
			outcome: solve.Failed, reason: "its own tests fail: 1 of 3",
		},
		"flaky in the first run, so in the second": {
			changes: []string{"a_test.py"}, base: []string{"a- b+ c+", "a- b+ c+"}, runs: []string{"a+ b- c+", "a+ b+ c+", "a+ b- c+"}, made: [2]int{2, 3},
			outcome: solve.Passed, reason: "fixes 1 test and keeps 1 passing test; 1 flaky test is left out", flaky: []string{"b"},
		},
		"the exit code is bad once": {
			base: []string{"a+"}, runs: []string{"a+ !3", "a+"}, made: [2]int{1, 2},
			outcome: solve.Passed, reason: "keeps 1 passing test; no test shows the fix",
		},
		"the exit code is bad each time": {
			base: []string{"a+"}, runs: []string{"a+ !3", "a+ !3"}, made: [2]int{1, 2},
			outcome: solve.Failed, reason: "the test command exits with 3 although no test fails",
		},
		"only the flaky test makes the exit code": {
			base: []string{"a+ b-", "a+ b+"}, runs: []string{"a+ b-"}, made: [2]int{2, 1},
			outcome: solve.Passed, reason: "keeps 1 passing test; no test shows the fix; 1 flaky test is left out", flaky: []string{"b"},
		},
		"no test is left": {
			base: []string{"a+"}, runs: []string{"a-", "a+"}, made: [2]int{1, 2},
			outcome: solve.NoVerdict, reason: "no test is left that has the same result in every run; 1 flaky test is left out", flaky: []string{"a"},
		},
		"no test of the base is steady": {
			base: []string{"a- b+", "a+ b-"}, runs: []string{"a+ b+"}, made: [2]int{2, 0},
			outcome: solve.NoVerdict, reason: "the base's own tests give no verdict: no test has the same result in every run",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, v, made := trial(t, "junit", max(c.tries, map[bool]int{true: 2}[c.tries == 0]), c.changes, c.base, c.runs)
			want := solve.Verdict{Outcome: c.outcome, Reason: c.reason, Flaky: len(c.flaky), FlakyTests: c.flaky}
			only := cmp.FilterPath(func(p cmp.Path) bool {
				return !slices.Contains([]string{"", "Outcome", "Reason", "Flaky", "FlakyTests"}, strings.TrimPrefix(p.Last().String(), ".")) && len(p) == 2
			}, cmp.Ignore())
			if diff := cmp.Diff(want, v, only, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if made != c.made {
				t.Errorf("runs of the base and with the candidate: %v, want %v", made, c.made)
			}
		})
	}
}

// TestOnlyWhatFailedRunsAgain: the tests that failed on the base are repeated alone. Whatever else comes of that
// than before, it is runs of all tests that decide.
func TestOnlyWhatFailedRunsAgain(t *testing.T) {
	t.Parallel()
	const whole, fail, pass, flaky = "", judge.Fail, judge.Pass, judge.Flaky
	for name, c := range map[string]struct {
		tries    int // 2
		plays    []string
		alone    string // what is asked for, by the number of the run
		a, b     judge.Status
		together int // runs of all tests that the report comes from
	}{
		"fails again":                     {plays: []string{"t.test_a.x- t.test_b.y+", "t.test_a.x-"}, alone: "2", a: fail, b: pass},
		"with others of its file":         {plays: []string{"t.test_a.x- t.test_a.z+ t.test_b.y+", "t.test_a.x- t.test_a.z+"}, alone: "2", a: fail, b: pass},
		"each of more tries":              {tries: 4, plays: []string{"t.test_a.x- t.test_b.y+", "t.test_a.x-", "t.test_a.x-", "t.test_a.x-"}, alone: "234", a: fail, b: pass},
		"fails after others only":         {plays: []string{"t.test_a.x- t.test_b.y+", "t.test_a.x+", "t.test_a.x- t.test_b.y+", "t.test_a.x- t.test_b.y+"}, alone: "2", a: fail, b: pass, together: 3},
		"passes alone, then with all":     {plays: []string{"t.test_a.x- t.test_b.y+", "t.test_a.x+", "t.test_a.x+ t.test_b.y+"}, alone: "2", a: flaky, b: pass, together: 2},
		"passes alone, then once":         {plays: []string{"t.test_a.x- t.test_b.y+", "t.test_a.x+", "t.test_a.x- t.test_b.y+", "t.test_a.x+ t.test_b.y+"}, alone: "2", a: flaky, b: pass, together: 3},
		"skipped alone":                   {plays: []string{"t.test_a.x- t.test_b.y+", "t.test_a.x~", "t.test_a.x- t.test_b.y+"}, alone: "2", a: fail, b: pass, together: 2},
		"gone alone":                      {plays: []string{"t.test_a.x- t.test_b.y+", "t.test_a.z+", "t.test_a.x- t.test_b.y+", "t.test_a.x- t.test_b.y+"}, alone: "2", a: fail, b: pass, together: 3},
		"another one fails beside it":     {plays: []string{"t.test_a.x- t.test_b.y+ t.test_a.z+", "t.test_a.x- t.test_a.z-", "t.test_a.x- t.test_b.y+ t.test_a.z+", "t.test_a.x- t.test_b.y+ t.test_a.z+"}, alone: "2", a: fail, b: pass, together: 3},
		"another exit code":               {plays: []string{"t.test_a.x- t.test_b.y+", "t.test_a.x- !0", "t.test_a.x- t.test_b.y+", "t.test_a.x- t.test_b.y+"}, alone: "2", a: fail, b: pass, together: 3},
		"hangs alone":                     {plays: []string{"t.test_a.x- t.test_b.y+", "hang", "t.test_a.x- t.test_b.y+"}, alone: "2", a: fail, b: pass, together: 2},
		"two files":                       {plays: []string{"t.test_a.x- t.test_b.y-", "t.test_a.x- t.test_b.y-"}, alone: "2", a: fail, b: fail},
		"in a file that cannot be loaded": {plays: []string{"t.test_a.x- t.test_b.y+ t.test_a%[collect]-", "t.test_a.x- t.test_a%[collect]-"}, alone: "2", a: fail, b: pass},
		"in a file that nobody knows":     {plays: []string{"t.test_a.x- t.test_b.y+ other-", "t.test_a.x- t.test_b.y+ other-"}, a: fail, b: pass, together: 2},
		"more than a hundred":             {plays: []string{"t.test_a.x- t.test_b.y+" + hundred("t.test_a."), "t.test_a.x- t.test_b.y+" + hundred("t.test_a.")}, a: fail, b: pass, together: 2},
		"only the exit code":              {plays: []string{"t.test_a.x+ t.test_b.y+ !3", "t.test_a.x+ t.test_b.y+ !3"}, a: pass, b: pass, together: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &player{t: t, plays: c.plays, files: "t/test_a.py\nt/test_b.py\nother/test_a.py\ntest_a.py\nt/test_a.txt\n"}
			how := judge.Trial{Test: solve.TestCommand{Command: "pytest --maxfail=9", Format: "junit", Report: "r.xml"}, Tries: max(c.tries, 2)}
			r, _, err := judge.RunBase(t.Context(), p, how)
			must(t, err)
			if r.Tests["t.test_a.x"] != c.a || r.Tests["t.test_b.y"] != c.b || r.Runs != c.together || p.made != len(c.plays) {
				t.Errorf("%d runs, %+v", p.made, r)
			}
			for i, call := range p.calls {
				want := whole
				if strings.Contains(c.alone, strconv.Itoa(i+1)) {
					want = " t/test_a.py"
					if c.b == fail {
						want += " t/test_b.py"
					}
				}
				if call != how.Test.Command+want {
					t.Errorf("run %d: %s", i+1, call)
				}
			}
		})
	}
}

// hundred are tests that fail.
func hundred(class string) (play string) {
	for i := range 100 {
		play += fmt.Sprintf(" %sn%d-", class, i)
	}
	return play
}

// TestBaseThatWasRunOnceHasAControl: the tests that failed ran twice, the others did not.
func TestBaseThatWasRunOnceHasAControl(t *testing.T) {
	t.Parallel()
	how := judge.Trial{Test: solve.TestCommand{Command: "pytest --maxfail=9", Format: "junit", Report: "r.xml"}, Tries: 2}
	for last, want := range map[string]solve.Outcome{"t.test_a.x- t.test_b.y+": solve.Failed, "t.test_a.x- t.test_b.y-": solve.Passed} {
		b := &player{t: t, plays: []string{"t.test_a.x- t.test_b.y+", "t.test_a.x-", last}, files: "t/test_a.py\nt/test_b.py\n"}
		rep, _, err := judge.RunBase(t.Context(), b, how)
		must(t, err)
		c := &copies{candidate: &player{t: t, plays: []string{"t.test_a.x- t.test_b.y-", "t.test_a.x- t.test_b.y-"}}, base: b}
		res := judged(t, c, judge.Input{Trial: how, Base: rep})
		if res.Verdict.Outcome != want || b.made != 3 || res.Base.Runs != 2 {
			t.Errorf("%s: %d runs of the base, %d of all tests: %+v", last, b.made, res.Base.Runs, res.Verdict)
		}
	}
}

func TestFlakyExitCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base, runs []string
		outcome    solve.Outcome
		reason     string
		made       [2]int
	}{
		"green":                     {[]string{"!0"}, []string{"!0"}, solve.Passed, "the tests pass, as they did on the base", [2]int{1, 1}},
		"red, then green":           {[]string{"!0"}, []string{"!1", "!0", "!0"}, solve.Passed, "the tests pass, as they did on the base", [2]int{1, 3}},
		"red each time":             {[]string{"!0"}, []string{"!1", "!1", "!0"}, solve.Failed, "the tests fail (exit code 1) and passed on the base", [2]int{1, 3}},
		"red, and so is the base":   {[]string{"!0"}, []string{"!1", "!1", "!1"}, solve.NoVerdict, "the tests fail (exit code 1), but on the base they fail at random", [2]int{1, 3}},
		"red base, mended":          {[]string{"!1", "!1"}, []string{"!0"}, solve.Passed, "the tests, which failed on the base, pass", [2]int{2, 1}},
		"red base, not mended":      {[]string{"!1", "!1"}, []string{"!1", "!1"}, solve.Passed, "the tests fail as on the base (exit code 1), so they say nothing about the change", [2]int{2, 2}},
		"flaky base":                {[]string{"!1", "!0"}, []string{"!0"}, solve.Passed, "the tests pass; on the base they fail at random", [2]int{2, 1}},
		"flaky base, red each time": {[]string{"!1", "!0"}, []string{"!1", "!1"}, solve.NoVerdict, "the tests fail (exit code 1), but on the base they fail at random", [2]int{2, 2}},
	} {
		_, v, made := trial(t, "exit", 2, nil, c.base, c.runs)
		if v.Outcome != c.outcome || v.Reason != c.reason || made != c.made {
			t.Errorf("%s: %s: %s, runs %v", name, v.Outcome, v.Reason, made)
		}
	}
}

// play plays runs of the base, before and beside the candidate's, and the candidate's.
func play(t *testing.T, tries int, base, runs []string) (rep judge.Report, v solve.Verdict, made [2]int) {
	t.Helper()
	how := judge.Trial{Test: junitTests, Tries: tries}
	b := &player{t: t, plays: base}
	rep, _, err := judge.RunBase(t.Context(), b, how)
	must(t, err)
	before := b.made
	c := &copies{candidate: &player{t: t, plays: runs}, base: b}
	return rep, judged(t, c, judge.Input{Trial: how, Base: rep}).Verdict, [2]int{before, c.candidate.made}
}

// Whatever tests fail at random: what a verdict calls fixed failed on every run
// of the base, what it calls broken never passed with the candidate, and what
// differs between runs is in no list but its own.
func TestFlakyTestsNeverDecideAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 6))
		tries := 1 + r.IntN(4)
		count := 1 + r.IntN(6)
		chance := make([][2]float64, count) // of failing on the base and with the candidate
		for i := range chance {
			for k := range chance[i] {
				chance[i][k] = []float64{0, 0, 1, r.Float64()}[r.IntN(4)]
			}
		}
		plays := func(k, n int) []string {
			var out []string
			for range n {
				var words []string
				for i := range chance {
					mark := "+"
					if r.Float64() < chance[i][k] {
						mark = "-"
					}
					words = append(words, fmt.Sprint("t", i, mark))
				}
				out = append(out, strings.Join(words, " "))
			}
			return out
		}
		base, runs := plays(0, tries+1), plays(1, tries)
		rep, v, made := play(t, tries, base, runs)
		base, runs = base[:made[0]], runs[:made[1]]
		had := func(plays []string, name, mark string) bool {
			return slices.ContainsFunc(plays, func(p string) bool { return slices.Contains(strings.Fields(p), name+mark) })
		}
		for name, s := range rep.Tests {
			if differs := had(base, name, "+") && had(base, name, "-"); differs != (s == judge.Flaky) {
				t.Errorf("seed %d: base says %s of %s after %q", seed, s, name, base)
			}
		}
		for _, name := range v.FixedTests {
			if had(base, name, "+") || !had(runs[:1], name, "+") {
				t.Errorf("seed %d: %s is fixed: base %q, candidate %q", seed, name, base, runs)
			}
		}
		for _, name := range append(slices.Clone(v.BrokenTests), v.NewFailTests...) {
			if had(base, name, "-") || had(runs, name, "+") {
				t.Errorf("seed %d: %s is broken: base %q, candidate %q", seed, name, base, runs)
			}
		}
		for _, name := range v.FlakyTests {
			for _, list := range [][]string{v.FixedTests, v.BrokenTests, v.StillTests, v.NewFailTests} {
				if slices.Contains(list, name) {
					t.Errorf("seed %d: %s is flaky and in %q", seed, name, list)
				}
			}
		}
		if v.Outcome == solve.Passed && v.Broken+v.NewFail > 0 {
			t.Errorf("seed %d: passed with something broken: %+v", seed, v)
		}
	}
}

// What another run of the base shows is handed on; what only the candidate's runs show is not.
func TestControlIsLearned(t *testing.T) {
	t.Parallel()
	how := judge.Trial{Test: junitTests, Tries: 2}
	base, _, err := judge.RunBase(t.Context(), &player{t: t, plays: []string{"a+ b+ c+"}}, how)
	must(t, err)
	for name, c := range map[string]struct {
		runs []string
		want judge.Report
	}{
		"control":    {[]string{"a+ b- c-", "a+ b- c+", "a+ b- c+"}, judge.Report{Runs: 2, Tests: map[string]judge.Status{"a": judge.Pass, "b": judge.Flaky, "c": judge.Pass}}},
		"no control": {[]string{"a+ b+ c+"}, base},
		"control of a test that is flaky with the candidate only": {[]string{"a+ b- c+", "a+ b+ c+", "a+ b+ c+"}, judge.Report{Runs: 2, Tests: base.Tests}},
	} {
		res := judged(t, &copies{candidate: &player{t: t, plays: c.runs}}, judge.Input{Trial: how, Base: base})
		if diff := cmp.Diff(c.want, res.Base, cmpopts.IgnoreFields(judge.Report{}, "Counts")); diff != "" || res.Verdict.Outcome != solve.Passed {
			t.Errorf("%s: %s %s", name, res.Verdict.Reason, diff)
		}
	}
}
