package cmd

import (
	"io"
	"os"
	"regexp"
	"strings"
	"unicode"

	"github.com/yudai-dev/yudai/solve"
)

// escape is an escape code of terminals.
var escape = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?`)

// colours are the escape codes that kinds of lines of a patch begin with.
var colours = [...][2]string{
	{"diff ", "\x1b[1m"}, {"+++", "\x1b[1m"}, {"---", "\x1b[1m"}, {"@@", "\x1b[36m"}, {"+", "\x1b[32m"}, {"-", "\x1b[31m"},
}

// printForeign prints text that strangers wrote. Where people look at it no code of it moves the cursor, sets a title or turns the
// direction of text, and a patch has colours, if NO_COLOR is not set.
func printForeign(out io.Writer, text string, patch bool) error {
	if isTerminal(out) {
		var b strings.Builder
		coloured := patch && os.Getenv("NO_COLOR") == "" && knowsCodes(out)
		for line := range strings.Lines(text) {
			b.WriteString(foreignLine(strings.TrimSuffix(line, "\n"), coloured) + "\n")
		}
		text = b.String()
	}
	_, err := io.WriteString(out, text)
	return err
}

// foreignLine is a line as a terminal may have it, as one of a patch with the colour of its kind.
func foreignLine(line string, coloured bool) string {
	line = strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, solve.Visible(escape.ReplaceAllString(line, "")))
	for _, c := range colours {
		if coloured && strings.HasPrefix(line, c[0]) {
			return c[1] + line + "\x1b[0m"
		}
	}
	return line
}
