package judge

import (
	"regexp"
	"slices"
	"strings"
)

// maxCalls is how deep scripts that call scripts are followed.
const maxCalls = 5

// steps are the commands that a package.json's script runs, in order, with the
// scripts that it calls and those around them, as npm would. What is a mere check
// is left out; dropped says whether there was any.
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
	checkName = regexp.MustCompile(`(?i)^(?:.*[:_-])?(?:lint|eslint|format|prettier|standard|style|typecheck|types|typings|tsd|audit|spell)(?:[:_-].*)?$`)
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

// splitAnd splits a script at its "&&". One that uses more of a shell stays
// whole, in parentheses where that is needed to join it with others.
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
		switch w := words[0]; {
		case setting.MatchString(w):
			set = append(set, w)
		case w == "cross-env" || w == "cross-env-shell" || w == "env":
		case w == "npx" || w == "c8" || w == "nyc":
			rest := words[1:]
			at := slices.IndexFunc(rest, isProgram)
			if w == "npx" {
				at = slices.IndexFunc(rest, func(s string) bool { return !strings.HasPrefix(s, "-") })
			}
			if at < 0 {
				return set, words
			}
			words = rest[at:]
			continue
		default:
			return set, words
		}
		words = words[1:]
	}
	return set, words
}

// isProgram knows what coverage programs are put before, among their own options.
func isProgram(word string) bool {
	switch word {
	case "node", "tsx", "tape", "mocha", "_mocha", "jest", "vitest", "ava", "qunit", "tap", "uvu", "lab", "borp", "npm", "pnpm", "yarn":
		return true
	}
	return false
}

// isCheck reports whether a command looks at style, types, coverage or known
// holes and not at behaviour.
func isCheck(command string) bool {
	words := strings.Fields(programOf(command))
	if len(words) == 0 {
		return true
	}
	has := func(s ...string) bool {
		return slices.ContainsFunc(s, func(w string) bool { return slices.Contains(words, w) })
	}
	switch words[0] {
	case "eslint", "standard", "ts-standard", "semistandard", "xo", "prettier", "biome", "oxlint", "jshint", "jscs", "tslint", "stylelint",
		"tsd", "tstyche", "dtslint", "attw", "publint", "knip", "depcheck", "dependency-check", "ls-engines", "aud", "evalmd", "eclint",
		"markdownlint", "commitlint", "size-limit", "bundlesize", "snyk", "lockfile-lint", "cspell", "coveralls", "codecov":
		return true
	case "tsc", "vue-tsc":
		return has("--noEmit", "-noEmit")
	case "npm", "pnpm", "yarn":
		return has("audit")
	case "c8", "nyc":
		return has("report", "check-coverage")
	}
	return strings.HasPrefix(words[0], "npm@") && has("audit")
}

// reporting turns the call of a known runner into one that reports test by
// test; ok is false for everything else.
func reporting(command string) (with, format, report string, ok bool) {
	set, words := settings(command)
	if len(words) == 0 || strings.HasPrefix(command, "(") {
		return "", "", "", false
	}
	name := words[0]
	rest := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return w == "--watch" || w == "--watchAll" })
	if slices.ContainsFunc(rest, choosesReporter) && name != "tape" && name != "jest" {
		return "", "", "", false
	}
	args, format, report := reporter(name, rest)
	if args == nil {
		return "", "", "", false
	}
	return strings.Join(slices.Concat(set, []string{name}, args), " "), format, report, true
}

// choosesReporter says whether the argument names a reporter of the repository's own choice.
func choosesReporter(w string) bool {
	return w == "-R" || strings.HasPrefix(w, "--reporter") || strings.HasPrefix(w, "--test-reporter") || strings.HasPrefix(w, "--json")
}

// reporter gives the arguments with which a runner reports test by test, nil for an unknown runner.
func reporter(name string, rest []string) (args []string, format, report string) {
	switch name {
	case "vitest":
		if len(rest) == 0 || rest[0] != "run" {
			rest = append([]string{"run"}, rest...)
		}
		return append(rest, "--reporter=default", "--reporter=junit", "--outputFile.junit="+junitFile), "junit", junitFile
	case "mocha", "_mocha":
		return append(rest, "--reporter", "xunit", "--reporter-option", "output="+junitFile), "junit", junitFile
	case "jest":
		return append(rest, "--json", "--outputFile="+jestFile), "jest", jestFile
	case "node", "tsx":
		if !slices.Contains(rest, "--test") {
			return nil, "", ""
		}
		return append([]string{
			"--test-reporter=spec", "--test-reporter-destination=stdout", "--test-reporter=junit", "--test-reporter-destination=" + junitFile,
		}, rest...), "junit", junitFile
	case "tape", "qunit":
		return rest, "tap", ""
	case "ava":
		return append(rest, "--tap"), "tap", ""
	}
	return nil, "", ""
}
