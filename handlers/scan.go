package handlers

import (
	"regexp"
	"strings"
)

// maxCommand is how many bytes a command line may have.
const maxCommand = 4 << 10

var (
	// commandLine is a line that starts with the command word; an indent of four
	// or more would be a code block.
	commandLine = regexp.MustCompile(`(?i)^ {0,3}/yudai(?:[\s\p{Z}]+(.*))?$`)
	quoteLine   = regexp.MustCompile(`^ {0,3}>`)
	// fenceOpen finds the start of a code fence, in a list item too.
	fenceOpen = regexp.MustCompile("^(?:[ \t]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*(`{3,}[^`]*|~{3,}.*)$")
)

// commands returns what follows the command word on each command line of a comment.
// Code fences, indented code, quotes and HTML comments hold no commands.
func commands(body string) []string {
	body = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body)
	var found []string
	for s := (scanner{lines: strings.Split(body, "\n")}); s.next(); {
		if m := commandLine.FindStringSubmatch(s.line); m != nil {
			found = append(found, strings.TrimSpace(m[1]))
		}
	}
	return found
}

// scanner walks over the lines of a comment that a reader sees as plain text.
type scanner struct {
	lines  []string
	line   string // the present one, without HTML comments
	fence  string // the open code fence's marks
	hidden bool   // inside an HTML comment
	open   bool   // no HTML comment ends in what is left
}

// next moves to the next line outside fences and quotes.
func (s *scanner) next() bool {
	for len(s.lines) > 0 {
		line := s.lines[0]
		s.lines = s.lines[1:]
		if s.fence != "" {
			if closes(line, s.fence) {
				s.fence = ""
			}
			continue
		}
		if !s.hidden && quoteLine.MatchString(line) {
			continue
		}
		s.line = s.visible(line)
		if m := fenceOpen.FindStringSubmatch(s.line); m != nil {
			s.fence = marks(m[1])
			continue
		}
		return true
	}
	return false
}

// visible removes HTML comments from a line. One that is never closed hides the rest
// of the text if it starts a line, as it does on GitHub; elsewhere it is plain text.
func (s *scanner) visible(line string) string {
	var out strings.Builder
	for {
		if s.hidden {
			_, after, closed := strings.Cut(line, "-->")
			if !closed {
				return out.String()
			}
			line, s.hidden = after, false
		}
		before, after, opened := strings.Cut(line, "<!--")
		if !opened {
			out.WriteString(line)
			return out.String()
		}
		if !strings.Contains(after, "-->") && strings.TrimSpace(out.String()+before) != "" && !s.closedLater() {
			out.WriteString(line)
			return out.String()
		}
		out.WriteString(before)
		line, s.hidden = after, true
	}
}

func (s *scanner) closedLater() bool {
	if s.open {
		return false
	}
	for _, line := range s.lines {
		if strings.Contains(line, "-->") {
			return true
		}
	}
	s.open = true
	return false
}

// marks is the run of fence characters that a fence line starts with.
func marks(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
}

// closes says whether the line is a fence of the same kind, at least as long, and nothing else.
func closes(line, fence string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}
