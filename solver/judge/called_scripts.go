package judge

import (
	"context"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxReads bounds how many files are read to follow a test command.
const maxReads = 100

// calls is what a test command reaches in the base's versions: makefiles with what they
// include, scripts of package.json, and scripts that are called by their paths.
type calls struct {
	text  strings.Builder // the command, and the texts of all that it reaches
	files []string        // those of the patch among them
	dirs  []string        // in which relative paths are looked for
	seen  map[string]bool
}

// call is one file that a text names.
type call struct {
	path     string
	included bool // make or npm reads it for the text that names it
}

// calls follows the test command. What it names itself counts, whatever it is.
func (j *judging) calls(ctx context.Context) (*calls, error) {
	c := &calls{seen: map[string]bool{}, dirs: []string{"."}}
	words := shellWords(j.Test.Command)
	c.files = touched(j.Changes, func(p string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return path.Clean(w) == p })
	})
	patched := touched(j.Changes, anyFile)
	queue := c.named(j.Test.Command, ".", patched)
	for reads := 0; len(queue) > 0 && reads < maxReads; reads++ {
		next := queue[0]
		queue = queue[1:]
		data, err := read(ctx, j.sb, next.path)
		if err != nil {
			return nil, err
		}
		text := string(data)
		if path.Base(next.path) == "package.json" {
			text = allScripts(data)
		} else if !next.included && !leadsToTests(next.path, text) {
			continue // it is what the tests are about
		} else if slices.Contains(patched, next.path) {
			c.files = append(c.files, next.path)
		}
		queue = append(queue, c.named(text, path.Dir(next.path), patched)...)
	}
	return c, nil
}

var (
	makeInclude = regexp.MustCompile(`(?m)^ *(?:-|s)?include\s+(.*)$`)
	inDirectory = regexp.MustCompile(`(?:\bcd|-C|--directory|--prefix)[ =]\s*([\w./-]+)`)
	usesMake    = regexp.MustCompile(`(?:^|[\s;&|(@"'])g?make\b|\$[({]MAKE[)}]`)
	usesNPM     = regexp.MustCompile(`\b(?:npm|pnpm|yarn)\b`)
)

// named lists the files that a text in a directory names and that were not seen before.
func (c *calls) named(text, dir string, patched []string) []call {
	c.text.WriteString(text + "\n")
	for _, m := range inDirectory.FindAllStringSubmatch(text, -1) {
		c.dirs = append(c.dirs, path.Clean(m[1]))
	}
	var out []call
	add := func(name string, included bool) {
		for _, d := range append(slices.Clone(c.dirs), dir) {
			p := path.Join(d, name)
			if !c.seen[p] && (included || isShell(p) || slices.Contains(patched, p)) {
				c.seen[p] = true
				out = append(out, call{p, included})
			}
		}
	}
	for _, name := range includedBy(text, dir, patched) {
		add(name, true)
	}
	words := shellWords(text)
	for i, w := range words {
		shell := i > 0 && slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", ".", "source"}, words[i-1])
		if w = afterVariable(w); w != "" && (shell || strings.Contains(w, "/") || path.Ext(w) != "") && !strings.Contains(w, "://") {
			add(w, false)
		}
	}
	return out
}

// includedBy lists what make and npm read for a text, and what the text includes as a makefile.
func includedBy(text, dir string, patched []string) (names []string) {
	if usesMake.MatchString(text) {
		names = append(names, "GNUmakefile", "makefile", "Makefile")
	}
	if usesNPM.MatchString(text) {
		names = append(names, "package.json")
	}
	for _, m := range makeInclude.FindAllStringSubmatch(text, -1) {
		for _, pattern := range strings.Fields(m[1]) {
			names = append(names, afterVariable(pattern))
			for _, p := range patched {
				if ok, err := path.Match(path.Join(dir, pattern), p); ok && err == nil {
					names = append(names, p)
				}
			}
		}
	}
	return names
}

// shellWords splits a script or a makefile into words, without its quotes.
func shellWords(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>'\"=`", r) })
	for i, w := range words {
		words[i] = strings.TrimLeft(w, "@+-")
	}
	return words
}

// afterVariable removes a directory that a variable names from the beginning of a path.
func afterVariable(word string) string {
	if strings.HasPrefix(word, "$") {
		_, word, _ = strings.Cut(word, "/")
	}
	return strings.TrimLeft(word, "/")
}

// isShell reports whether a file can be a script of the shell, by its name.
func isShell(p string) bool {
	return slices.Contains([]string{"", ".sh", ".bash", ".zsh", ".ksh"}, path.Ext(p))
}

var (
	toolDirs  = []string{"scripts", "script", "tools", "ci", ".ci", "hack", "build-aux", ".github", ".circleci"}
	testWord  = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:run)?(?:tests?|checks?|ci|verify)(?:[^a-z]|$)`)
	runsTests = regexp.MustCompile(`\b(?:pytest|py\.test|unittest|go test|cargo (?:test|nextest)|(?:npm|yarn|pnpm) (?:run )?test|` +
		`node (?:\S+ )*--test|jest|vitest|mocha|ctest|prove|bats|tox|nox|rspec|phpunit|mvn|gradlew?|make)\b`)
	scriptSuffixes = []string{".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".awk"}
)

// leadsToTests reports whether a file that a test command calls is a tool of the tests, and
// not the program that they are about: by its name and place, or because it starts a runner.
func leadsToTests(p, text string) bool {
	if !isShell(p) && !slices.Contains(scriptSuffixes, path.Ext(p)) {
		return false
	}
	inTools := slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(d string) bool { return slices.Contains(toolDirs, d) })
	return inTools && isShell(p) || testWord.MatchString(path.Base(p)) || runsTests.MatchString(text)
}

// allScripts are the scripts of a package.json, one a line.
func allScripts(data []byte) string {
	var p nodePackage
	if json.Unmarshal(data, &p) != nil {
		return ""
	}
	var b strings.Builder
	for _, text := range p.Scripts {
		b.WriteString(text + "\n")
	}
	return b.String()
}
