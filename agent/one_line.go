package agent

import (
	"strings"
	"unicode"

	"github.com/yudai-dev/yudai/solve"
)

// mostLine is how many bytes of a foreign text fit into a sentence for people.
const mostLine = 300

// OneLine makes foreign text fit for people: one line, short, valid UTF-8.
func OneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(text) > mostLine {
		text = solve.CutText(text, mostLine) + "…"
	}
	return text
}
