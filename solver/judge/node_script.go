package judge

import (
	"regexp"
	"slices"
	"strings"
)

// maxCalls is how deep scripts that call scripts are followed.
const maxCalls = 5

// steps are the commands that a script of package.json runs, in order, including the scripts
// that it calls and those before and after it, as npm runs them. Mere checks are left out;
// dropped says whether there were any.
func (p nodePackage) steps(script string) (kept []string, dropped bool) {
	for _, step := range p.commandsOf(script, 0) {
		if isCheck(step) {
			dropped = true
			continue
		}
		kept = append(kept, step)
	}
	return kept, dropped
}

// commandsOf lists the commands of a script; one that is a check by its name is "".
func (p nodePackage) commandsOf(script string, depth int) []string {
	if checkName.MatchString(script) {
		return []string{""}
	}
	var out []string
	for _, name := range []string{"pre" + script, script, "post" + script} {
		text := prettyTAP.ReplaceAllString(strings.TrimSpace(p.Scripts[name]), "")
		if text == "" {
			continue
		}
		for _, part := range splitAnd(text) {
			called, ok := p.called(strings.Fields(programOf(part)))
			if !ok || depth == maxCalls {
				out = append(out, part)
				continue
			}
			for _, c := range called {
				out = append(out, p.commandsOf(c, depth+1)...)
			}
		}
	}
	return out
}

var (
	checkName = regexp.MustCompile(
		`(?i)^(?:.*[:_-])?(?:lint|eslint|format|prettier|standard|style|typecheck|types|typings|tsd|audit|spell)(?:[:_-].*)?$`)
	prettyTAP = regexp.MustCompile(`\s*\|\s*(?:npx )?(?:tap-[\w-]+|faucet|colortape)(?:\s[^|&;<>]*)?$`)
	setting   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=[A-Za-z0-9_./:,@%+-]*$`)
)

// called lists the scripts that a command calls by name, and only calls.
func (p nodePackage) called(words []string) ([]string, bool) {
	if len(words) < 2 {
		return nil, false
	}
	names := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return w == "-s" || w == "--silent" })
	switch words[0] {
	case "npm", "pnpm", "yarn":
		if len(names) > 0 && (names[0] == "run" || names[0] == "run-script") {
			names = names[1:]
		} else if words[0] == "npm" && !slices.Equal(names, []string{"test"}) {
			return nil, false
		}
		if len(names) != 1 {
			return nil, false
		}
	case "npm-run-all", "run-s", "run-p":
	default:
		return nil, false
	}
	for _, n := range names {
		if p.Scripts[n] == "" {
			return nil, false
		}
	}
	return names, len(names) > 0
}

// splitAnd splits a script at its "&&". A script that uses more of the shell stays whole, in
// parentheses, so that it can be joined with others.
func splitAnd(text string) []string {
	var out []string
	var quote byte
	start := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\\':
			i++
		case c == '\'' || c == '"':
			quote = c
		case c == '&' && strings.HasPrefix(text[i:], "&&"):
			out = append(out, strings.TrimSpace(text[start:i]))
			i++
			start = i + 1
		case strings.IndexByte(";|&<>()`\n", c) >= 0:
			return []string{"( " + text + " )"}
		}
	}
	return append(out, strings.TrimSpace(text[start:]))
}

// programOf removes what stands before the program that a command is about:
// settings, cross-env, npx, and the programs that measure coverage.
func programOf(command string) string {
	_, words := settings(command)
	return strings.Join(words, " ")
}

// settings splits a command into the variables it sets and the program with its arguments.
func settings(command string) (set, words []string) {
	words = strings.Fields(command)
	for len(words) > 0 {
		next := 1
		switch w := words[0]; {
		case setting.MatchString(w):
			set = append(set, w)
		case w == "npx":
			next += slices.IndexFunc(words[1:], func(s string) bool { return !strings.HasPrefix(s, "-") })
		case w == "c8" || w == "nyc":
			next += slices.IndexFunc(words[1:], func(s string) bool { return slices.Contains(coveredPrograms, s) })
		case w != "cross-env" && w != "cross-env-shell" && w != "env":
			return set, words
		}
		if next == 0 { // no program behind it
			return set, words
		}
		words = words[next:]
	}
	return set, words
}

// coveredPrograms are those that coverage programs are put before, among their own options.
var coveredPrograms = []string{
	"node", "tsx", "tape", "mocha", "_mocha", "jest", "vitest", "ava", "qunit", "tap", "uvu", "lab", "borp", "npm", "pnpm", "yarn",
}

// checkPrograms look at style, types, sizes or known vulnerabilities and not at behaviour.
var checkPrograms = []string{
	"eslint", "standard", "ts-standard", "semistandard", "xo", "prettier", "biome", "oxlint", "jshint", "jscs", "tslint", "stylelint",
	"tsd", "tstyche", "dtslint", "attw", "publint", "knip", "depcheck", "dependency-check", "ls-engines", "aud", "evalmd", "eclint",
	"markdownlint", "commitlint", "size-limit", "bundlesize", "snyk", "lockfile-lint", "cspell", "coveralls", "codecov",
}

// checkArguments make a mere check of a program that does other things, too.
var checkArguments = map[string][]string{
	"tsc": {"--noEmit", "-noEmit"}, "vue-tsc": {"--noEmit", "-noEmit"},
	"npm": {"audit"}, "pnpm": {"audit"}, "yarn": {"audit"},
	"c8": {"report", "check-coverage"}, "nyc": {"report", "check-coverage"},
}

// isCheck reports whether a command looks at style, types, coverage or known
// vulnerabilities and not at behaviour.
func isCheck(command string) bool {
	words := strings.Fields(programOf(command))
	if len(words) == 0 {
		return true
	}
	program := words[0]
	if strings.HasPrefix(program, "npm@") {
		program = "npm"
	}
	return slices.Contains(checkPrograms, program) ||
		slices.ContainsFunc(checkArguments[program], func(arg string) bool { return slices.Contains(words, arg) })
}

// nodeRunner is a runner that can report test by test.
type nodeRunner struct {
	needs          string   // an argument without which it does not run tests
	before, after  []string // arguments that make it report, before and after those of the script
	format, report string
}

var (
	mochaRunner = nodeRunner{
		after: []string{"--reporter", "xunit", "--reporter-option", "output=" + junitFile}, format: "junit", report: junitFile,
	}
	nodeTest = nodeRunner{needs: "--test", format: "junit", report: junitFile, before: []string{
		"--test-reporter=spec", "--test-reporter-destination=stdout", "--test-reporter=junit", "--test-reporter-destination=" + junitFile,
	}}
)

// nodeRunners by the name of their program.
var nodeRunners = map[string]nodeRunner{
	"vitest": {
		before: []string{"run"}, after: []string{"--reporter=default", "--reporter=junit", "--outputFile.junit=" + junitFile},
		format: "junit", report: junitFile,
	},
	"mocha": mochaRunner, "_mocha": mochaRunner,
	"jest": {after: []string{"--json", "--outputFile=" + jestFile}, format: "jest", report: jestFile},
	"node": nodeTest, "tsx": nodeTest,
	"tape": {format: "tap"}, "qunit": {format: "tap"},
	"ava": {after: []string{"--tap"}, format: "tap"},
}

// reporting turns the call of a known runner into one that reports test by
// test; ok is false for everything else.
func reporting(command string) (with string, runner nodeRunner, ok bool) {
	set, words := settings(command)
	if len(words) == 0 || strings.HasPrefix(command, "(") {
		return "", runner, false
	}
	name := words[0]
	args := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return w == "--watch" || w == "--watchAll" })
	runner, ok = nodeRunners[name]
	ownReporter := slices.ContainsFunc(args, choosesReporter) && name != "tape" && name != "jest"
	if !ok || ownReporter || runner.needs != "" && !slices.Contains(args, runner.needs) {
		return "", runner, false
	}
	before := runner.before
	if len(args) > 0 && slices.Equal(args[:1], before) { // vitest run
		before = nil
	}
	return strings.Join(slices.Concat(set, []string{name}, before, args, runner.after), " "), runner, true
}

// choosesReporter says whether the argument names a reporter of the repository's own choice.
func choosesReporter(w string) bool {
	return w == "-R" || strings.HasPrefix(w, "--reporter") || strings.HasPrefix(w, "--test-reporter") || strings.HasPrefix(w, "--json")
}
