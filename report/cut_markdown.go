package report

import (
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// Sizes in bytes that GitHub takes, with room to spare where its own limit is
// counted in another unit (bodies: 65,536 characters, titles: 256).
const (
	MaxComment = 60_000
	MaxBody    = 60_000
	MaxCheck   = 65_535 // summary and text of a check run, each
	MaxTitle   = 250
)

// CutMarkdown shortens Markdown to at most limit bytes and puts more, a sentence
// for people, in the place of what is gone. It cuts between whole lines only,
// so never inside a table's row, a code span or a character, and closes the
// fences, comments and details that are open there. A text that fits is returned as it is.
func CutMarkdown(s string, limit int, more string) string {
	if len(s) <= limit {
		return s
	}
	more = solve.CutText(more, limit)
	var open markdownScan
	best, at := "", 0
	for at < len(s) {
		end := strings.IndexByte(s[at:], '\n')
		if end < 0 {
			break // the last line is whole only when everything fits
		}
		open.line(s[at : at+end])
		at += end + 1
		if at > limit {
			break
		}
		if text := strings.TrimRight(s[:at], "\n") + open.closers() + "\n\n" + more; len(text) <= limit {
			best = text
		}
	}
	if best == "" {
		return more
	}
	return best
}

// markdownScan is what is open behind the lines seen so far.
type markdownScan struct {
	fence   string // the opening fence's marks, "" outside
	comment bool
	details int
}

func (m *markdownScan) line(text string) {
	trimmed := strings.TrimLeft(text, " ")
	mark := fenceMark(trimmed)
	if len(text)-len(trimmed) > 3 {
		mark = ""
	}
	lower := strings.ToLower(trimmed)
	switch {
	case m.comment:
		m.comment = !strings.Contains(text, "-->")
	case m.fence != "":
		if strings.HasPrefix(mark, m.fence) && strings.TrimRight(trimmed, " \t") == mark {
			m.fence = ""
		}
	case mark != "":
		m.fence = mark
	case strings.HasPrefix(lower, "<!--"):
		m.comment = !strings.Contains(text, "-->")
	case strings.HasPrefix(lower, "<details"):
		m.details++
		m.details -= strings.Count(lower, "</details>")
	case strings.HasPrefix(lower, "</details>"):
		m.details = max(0, m.details-1)
	}
}

// closers ends what is open, the innermost first.
func (m *markdownScan) closers() string {
	var b strings.Builder
	if m.fence != "" {
		b.WriteString("\n" + m.fence)
	}
	if m.comment {
		b.WriteString("\n-->")
	}
	b.WriteString(strings.Repeat("\n\n</details>", m.details))
	return b.String()
}

// fenceMark is the run of three or more backticks or tildes a line begins with.
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			if c == "`" && strings.Contains(line[n:], "`") {
				return "" // a code span
			}
			return line[:n]
		}
	}
	return ""
}
