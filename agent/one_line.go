package agent

import "github.com/yudai-dev/yudai/solve"

// mostLine is how many bytes of a foreign text fit into a sentence for people.
const mostLine = 300

// OneLine makes foreign text fit for people: one line of visible characters, short.
func OneLine(text string) string {
	if text = solve.OneLine(text); len(text) > mostLine {
		text = solve.CutText(text, mostLine) + "…"
	}
	return text
}
