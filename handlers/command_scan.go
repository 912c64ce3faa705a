package handlers

import (
	"regexp"
	"strings"
	"unicode"
)

// maxCommand is how many bytes a command may have, a revision's text included.
const maxCommand = 4 << 10

var (
	// commandLine is a line that starts with the command word, or with the mention of somebody who is to solve; an
	// indent of four or more would be a code block.
	commandLine = regexp.MustCompile(`(?i)^ {0,3}(?:/yudai(?:[\s\p{Z}]+(.*))?|@([a-z0-9-]+)(?:\[bot\])?[\s\p{Z}]+(solve(?:[\s\p{Z}].*)?))$`)
	quoteLine   = regexp.MustCompile(`^ {0,3}>`)
	// fenceOpen finds the start of a code fence, in a list item too.
	fenceOpen = regexp.MustCompile("^(?:[ \t]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*(`{3,}[^`]*|~{3,}.*)$")
	// foldTag ends or begins what is shown as it stands, or only to who opens it; a tag that begins may go on below.
	foldTag  = regexp.MustCompile(`(?i)</(pre|details)(?:\s[^>]*)?>|<(pre|details)(?:[\s/][^>]*)?(?:>|$)`)
	codeSpan = regexp.MustCompile("`+[^`]*`+")
)

// found is a command line of a comment.
type found struct {
	line string   // what follows the command word
	more []string // the lines below it, down to the next command
}

// commands finds the command lines of a comment. Code fences, indented code, quotes,
// HTML comments, <pre> and <details> hold none. A mention counts only of yudai, or of the given name.
func commands(body, name string) []found {
	var list []found
	for s := scan(body); s.next(); {
		if m := commandLine.FindStringSubmatch(s.line); m != nil && !s.code && !s.folded &&
			(m[2] == "" || strings.EqualFold(m[2], "yudai") || strings.EqualFold(m[2], name)) {
			list = append(list, found{line: strings.TrimSpace(m[1] + m[3])})
		} else if last := len(list) - 1; last >= 0 {
			list[last].more = append(list[last].more, s.line)
		}
	}
	return list
}

// plainText is what the author of a comment wrote for people to see: without quotes of
// others and without HTML comments.
func plainText(body string) string {
	var lines []string
	for s := scan(body); s.next(); {
		lines = append(lines, s.line)
	}
	return joined(lines)
}

// joined puts lines together, with at most one empty line between two others.
func joined(lines []string) string {
	var out []string
	for _, line := range lines {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if line != "" || len(out) > 0 && out[len(out)-1] != "" {
			out = append(out, line)
		}
	}
	return strings.TrimRight(strings.ToValidUTF8(strings.Join(out, "\n"), "\uFFFD"), "\n")
}

// scanner walks over the lines of a comment that are not quotes.
type scanner struct {
	lines  []string
	line   string         // the present one, without HTML comments
	code   bool           // the present one belongs to a code fence
	fence  string         // the open code fence's marks
	folded bool           // the present one begins inside <pre> or <details>
	folds  map[string]int // of these, how many of each are open
	hidden bool           // inside an HTML comment
	open   bool           // no HTML comment ends in what is left
}

func scan(body string) *scanner {
	body = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body)
	return &scanner{lines: strings.Split(body, "\n"), folds: map[string]int{}}
}

// next moves to the next line outside quotes.
func (s *scanner) next() bool {
	for len(s.lines) > 0 {
		line := s.lines[0]
		s.lines = s.lines[1:]
		if s.fence != "" {
			if closes(line, s.fence) {
				s.fence = ""
			}
			s.line, s.code = line, true
			return true
		}
		if !s.hidden && quoteLine.MatchString(line) {
			continue
		}
		s.line, s.code, s.folded = s.visible(line), false, s.folds["pre"]+s.folds["details"] > 0
		if m := fenceOpen.FindStringSubmatch(s.line); m != nil {
			s.fence, s.code = marks(m[1]), true
			return true
		}
		for _, m := range foldTag.FindAllStringSubmatch(codeSpan.ReplaceAllString(s.line, ""), -1) {
			if m[1] == "" {
				s.folds[strings.ToLower(m[2])]++
			} else if kind := strings.ToLower(m[1]); s.folds[kind] > 0 {
				s.folds[kind]--
			}
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
