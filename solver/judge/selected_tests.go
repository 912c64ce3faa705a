package judge

import (
	"cmp"
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// selector narrows the call of a runner, which ends the command, to some tests.
type selector struct {
	format string
	call   *regexp.Regexp
	file   *regexp.Regexp // the files of tests that the runner can be asked for
	// narrow is the call for the tests of the files, of which only those with the names matter; "" is none.
	narrow func(call string, files, names []string) string
}

// selectors by runner. A command that none of them fits runs as a whole, as make and scripts do.
var selectors = []selector{
	{"go", regexp.MustCompile(`\bgo test\b`), regexp.MustCompile(`_test\.go$`), selectGo},
	{"junit", regexp.MustCompile(`\bpytest\b`), pythonTestFile, withFiles("")},
	{"jest", regexp.MustCompile(`\bjest\b`), jsTestFile, withFiles("--runTestsByPath ")},
	{"junit", regexp.MustCompile(`\bvitest run\b`), jsTestFile, withFiles("")},
	{"junit", regexp.MustCompile(`\b(?:node|tsx)\b.*\s--test\b|\b_?mocha\b`), jsTestFile, selectNode},
	{"cargo", regexp.MustCompile(`\bcargo test\b`), rustTestFile, selectCargo},
	{"junit", regexp.MustCompile(`\bmvnw?\b`), jvmTestFile, selectMaven},
	{"junit", regexp.MustCompile(`\bgradlew?\b`), jvmTestFile, selectGradle},
}

var (
	jvmTestFile  = regexp.MustCompile(`(?:^|/)src/test/.*\.(?:java|kt|groovy|scala)$`)
	rustTestFile = regexp.MustCompile(`^(?:.*/)?tests/[\w-]+\.rs$`)
)

// selectorOf is that of the command's runner; nil if none fits.
func selectorOf(test solve.TestCommand) *selector {
	for i, s := range selectors {
		if s.format == test.Format && s.call.MatchString(test.Command) {
			return &selectors[i]
		}
	}
	return nil
}

// maxSelected bounds a narrowed command, in bytes.
const maxSelected = 8 << 10

// selected is the test command for the tests of some files, of which only those with the names
// matter if there are names; "" where it cannot be narrowed safely. all says whether the runner
// can be asked for each of the files.
func selected(test solve.TestCommand, files, names []string) (command string, all bool) {
	s := selectorOf(test)
	if s == nil {
		return "", false
	}
	text, merged := strings.CutSuffix(test.Command, " 2>&1")
	at := s.call.FindStringIndex(text)[0]
	before, call, dir := text[:at], text[at:], ""
	if m := startsIn.FindStringSubmatch(before); m != nil {
		dir = path.Clean(m[1]) + "/"
	}
	if strings.ContainsAny(call, ";|&()<>\n") || strings.Contains(startsIn.ReplaceAllString(before, ""), "cd ") {
		return "", false
	}
	var can []string
	for _, f := range files {
		if below, ok := strings.CutPrefix(f, dir); ok && s.file.MatchString(below) && strings.TrimLeft(below, "-@") == below {
			can = append(can, below)
		}
	}
	if len(can) == 0 {
		return "", false
	}
	if call = s.narrow(call, can, names); call == "" || len(call) > maxSelected {
		return "", false
	}
	if merged {
		call += " 2>&1"
	}
	return before + call, len(can) == len(files)
}

// selection are some of the tests: those of the files, of which only those with the names matter.
type selection struct{ files, names []string }

// selectionOf is for the tests with the names in a patch that has nothing but tests.
func selectionOf(tests []byte, names []string) (*selection, error) {
	changes, err := patch.Parse(tests)
	s := &selection{names: names}
	for _, c := range changes {
		if c.Op != "delete" {
			s.files = append(s.files, c.Path)
		}
	}
	return s, err
}

// maxAlone is how many failed tests run again alone; more are most of a suite.
const maxAlone = 100

// selectFailed selects the tests that failed in a run of all; nil where the runner cannot be asked for each of them.
func (t Trial) selectFailed(ctx context.Context, sb sandbox.Sandbox, r Report) (*selection, error) {
	runner := selectorOf(t.Test)
	if runner == nil || r.Counts.Failed == 0 || r.Counts.Failed > maxAlone {
		return nil, nil
	}
	dir, paths, err := t.listFiles(ctx, sb)
	if err != nil {
		return nil, err
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return !runner.file.MatchString(p) })
	s := &selection{}
	for name, is := range r.Tests {
		if is != Fail {
			continue
		}
		s.names = append(s.names, name)
		files := filesOf(name, paths)
		if len(files) == 0 {
			return nil, nil
		}
		for _, f := range files {
			s.files = append(s.files, path.Join(dir, f))
		}
	}
	s.files, s.names = sorted(s.files), sorted(s.names)
	if _, all := selected(t.Test, s.files, s.names); !all {
		return nil, nil
	}
	return s, nil
}

// filesOf are the files that a test of that name can be in, by the longest directory that its name tells.
func filesOf(test string, paths []string) (files []string) {
	test, _, _ = strings.Cut(test, " [") // a mark
	longest := 0
	for _, p := range paths {
		n := strings.LastIndex(p, "/") + 1
		if n < longest || !holds(p, test) {
			continue
		}
		if n > longest {
			files, longest = nil, n
		}
		files = append(files, p)
	}
	return files
}

// command is what runs: the test command, narrowed to what is selected and to the canaries beside it where it can be.
func (t Trial) command(c *canaries) string {
	if t.only == nil {
		return t.Test.Command
	}
	files, names := t.only.files, t.only.names
	if c != nil {
		files = slices.AppendSeq(slices.Clone(files), maps.Keys(c.files))
		names = append(slices.Clone(names), ".TestZ"+c.pass, ".TestZ"+c.fail) // as Go reports them; others are asked for by files
	}
	command, _ := selected(t.Test, files, names)
	return cmp.Or(command, t.Test.Command)
}

// goTestName is the test function in a name of a report.
var goTestName = regexp.MustCompile(`\.((?:Test|Example|Fuzz)[^./]*)(?:/.*)?$`)

func selectGo(call string, files, names []string) string {
	if strings.Count(call+" ", " ./... ") != 1 || strings.Contains(call, "-run") {
		return ""
	}
	words := []string{}
	for _, n := range names {
		if m := goTestName.FindStringSubmatch(n); m != nil {
			words = append(words, regexp.QuoteMeta(m[1]))
		}
	}
	if len(words) > 0 {
		words = []string{"-run", shellescape.Quote("^(" + strings.Join(sorted(words), "|") + ")$")}
	}
	words = append(words, quoted(files, func(f string) string { return "./" + path.Dir(f) })...)
	return strings.Replace(call, "./...", strings.Join(words, " "), 1)
}

// withFiles appends the files, after an option.
func withFiles(option string) func(call string, files, names []string) string {
	return func(call string, files, _ []string) string {
		return call + " " + option + strings.Join(quoted(files, path.Clean), " ")
	}
}

// takesValue are the options of runners for Node that stand before a value.
var takesValue = regexp.MustCompile(`^(?:-[rCtRgOu]|--(?:require|import|loader|experimental-loader|conditions|timeout|grep|` +
	`reporter(?:-options?)?|ui|file|extension|config|package|spec|env-file|tsconfig|test-name-pattern))$`)

// selectNode puts the files in the place of the patterns.
func selectNode(call string, files, _ []string) string {
	words := strings.Fields(call)
	kept := words[:1:1]
	for i, w := range words[1:] {
		if strings.Count(w, `"`)%2+strings.Count(w, "'")%2 > 0 {
			return ""
		}
		if strings.HasPrefix(w, "-") || takesValue.MatchString(words[i]) {
			kept = append(kept, w)
		}
	}
	return strings.Join(append(kept, quoted(files, path.Clean)...), " ")
}

// selectCargo names the programs of the tests.
func selectCargo(call string, files, _ []string) string {
	programs := quoted(files, func(f string) string { return "--test=" + strings.TrimSuffix(path.Base(f), ".rs") })
	return strings.Replace(call, "cargo test", "cargo test "+strings.Join(programs, " "), 1)
}

func classes(files []string) []string {
	return quoted(files, func(f string) string { return strings.TrimSuffix(path.Base(f), path.Ext(f)) })
}

func selectMaven(call string, files, _ []string) string {
	return call + " -Dtest=" + strings.Join(classes(files), ",") + " -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false"
}

func selectGradle(call string, files, _ []string) string {
	if !strings.Contains(call+" ", " test ") {
		return ""
	}
	return strings.TrimSuffix(strings.Replace(call+" ", " test ", " test --tests "+strings.Join(classes(files), " --tests ")+" ", 1), " ")
}

// quoted are words of a command, one for each of what the files are mapped to.
func quoted(files []string, to func(string) string) []string {
	var out []string
	for _, f := range files {
		out = append(out, shellescape.Quote(to(f)))
	}
	return sorted(out)
}

func sorted(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
