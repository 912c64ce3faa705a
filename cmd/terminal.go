package cmd

import (
	"regexp"
	"strings"
	"unicode"
)

// escape is an escape code of terminals.
var escape = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?`)

// colours are the escape codes that kinds of lines of a patch begin with.
var colours = [...][2]string{
	{"diff ", "\x1b[1m"}, {"+++", "\x1b[1m"}, {"---", "\x1b[1m"}, {"@@", "\x1b[36m"}, {"+", "\x1b[32m"}, {"-", "\x1b[31m"},
}

// foreignLine is a line as a terminal may have it, as one of a patch with the colour of its kind.
func foreignLine(line string, coloured bool) string {
	line = strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, escape.ReplaceAllString(line, ""))
	for _, c := range colours {
		if coloured && strings.HasPrefix(line, c[0]) {
			return c[1] + line + "\x1b[0m"
		}
	}
	return line
}
