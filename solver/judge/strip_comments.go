package judge

import (
	"go/scanner"
	"go/token"
	"strings"
)

// stripper writes a source text without comments and without the white space that means
// nothing. What it cannot tell for certain it keeps; where it would lose its way, it gives up.
// It looks at each byte a fixed number of times, whatever a candidate wrote.
type stripper struct {
	language
	src      string
	pos      int
	line     int  // where the line of pos begins
	bare     bool // nothing is written of this line
	gap      bool // white space or a comment before pos
	newline  bool // and the end of a line that counts
	operator byte // the last byte written, if it is of an operator
	// directive: in a line of the C preprocessor, where spaces count.
	directive bool
	brackets  int  // open ones, where a line goes on in them
	example   bool // in an example of a Rust doc comment
	lost      bool
	out       strings.Builder
}

// strip returns the text; ok is false where it gave up.
func (l language) strip(src string) (text string, ok bool) {
	if l.giveUp != nil && l.giveUp.MatchString(src) {
		return "", false
	}
	if l.jsx && (strings.Contains(src, "</") || strings.Contains(src, "/>")) {
		l.wary = true
	}
	l.docs = l.docs && !pythonDocs.MatchString(src)
	s := stripper{language: l, src: src, bare: true, newline: l.indent}
	for s.pos < len(src) && !s.lost {
		s.step()
	}
	return s.out.String(), !s.lost
}

// step reads one token, comment or byte of white space.
func (s *stripper) step() {
	rest := s.src[s.pos:]
	switch c := rest[0]; {
	case c == '\n':
		s.pos++
		s.endLine()
	case c == ' ' || c == '\t' || c == '\r' || c == '\f':
		s.gap = true
		s.pos++
	case s.joins && (strings.HasPrefix(rest, "\\\n") || strings.HasPrefix(rest, "\\\r\n")):
		s.gap = true
		s.pos += strings.IndexByte(rest, '\n') + 1
		s.line = s.pos
	case c == '\\' && s.spaces:
		s.emit(rest[:min(2, len(rest))])
	case s.comment(rest), s.literal(rest):
	case c == '/' && s.regex:
		s.keepLine() // the rest may be a pattern with anything in it
	case isWord(c):
		s.word(rest)
	default:
		s.punctuation(c)
	}
}

func (s *stripper) endLine() {
	s.line, s.bare, s.gap = s.pos, true, true
	if s.newlines && s.brackets == 0 || s.directive {
		s.newline = true
	}
	s.directive = false
}

// apart reports whether a comment may begin at pos where its mark may be a part of something else.
func (s *stripper) apart() bool {
	return s.pos == 0 || strings.IndexByte(" \t\r\n;{}(),[]", s.src[s.pos-1]) >= 0
}

// comment skips a comment, and reports whether there is one.
func (s *stripper) comment(rest string) bool {
	for _, mark := range s.lineMarks {
		if !strings.HasPrefix(rest, mark) || s.spaces && !s.apart() {
			continue
		}
		if s.careful && !s.apart() || s.wary && !s.bare {
			s.keepLine()
			return true
		}
		text, _, _ := strings.Cut(rest, "\n")
		s.drop(text, s.keeps(text))
		return true
	}
	if s.block[0] == "" || !strings.HasPrefix(rest, s.block[0]) {
		return false
	}
	if s.careful && !s.apart() {
		s.keepLine()
		return true
	}
	end := s.blockEnd(rest)
	if end < 0 {
		s.lost = true
		return true
	}
	text := rest[:end]
	s.drop(text, isDirective(text) || s.examples && strings.Contains(text, "```"))
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		s.line = s.pos - len(text) + i + 1
		s.newline = s.newline || s.newlines
	}
	return true
}

// drop passes over a comment, or keeps it.
func (s *stripper) drop(text string, keep bool) {
	if keep {
		s.emit(text)
		return
	}
	s.gap = true
	s.pos += len(text)
}

// keeps reports whether a line comment is more than a remark.
func (s *stripper) keeps(text string) bool {
	doc, is := strings.CutPrefix(text, "///")
	if inner, ok := strings.CutPrefix(text, "//!"); ok {
		doc, is = inner, true
	}
	if !s.examples || !is {
		return isDirective(text)
	}
	// An example in a Rust doc comment is compiled and run: a fenced or an indented block.
	bare := strings.TrimSpace(doc)
	if strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~") {
		s.example = !s.example
		return true
	}
	return s.example || strings.HasPrefix(doc, "     ") || strings.HasPrefix(doc, "\t")
}

// blockEnd is where the block comment ends that rest begins with, -1 if it does not.
func (s *stripper) blockEnd(rest string) int {
	begin, end := s.block[0], s.block[1]
	depth := 1
	for i := len(begin); i < len(rest); {
		switch {
		case strings.HasPrefix(rest[i:], end):
			i += len(end)
			if depth--; depth == 0 {
				return i
			}
		case s.nested && strings.HasPrefix(rest[i:], begin):
			i += len(begin)
			depth++
		default:
			i++
		}
	}
	return -1
}

// keepLine keeps the rest of the line as it is. It gives up if something may begin there that
// goes on in the next line.
func (s *stripper) keepLine() {
	text, _, _ := strings.Cut(s.src[s.pos:], "\n")
	for _, q := range s.quotes {
		s.lost = s.lost || q.lines && strings.Contains(text, q.open)
	}
	s.lost = s.lost || s.block[0] != "" && strings.Contains(text, s.block[0])
	s.emit(strings.TrimRight(text, " \t\r"))
}

// word reads a name or a number, with a string that it is the prefix of.
func (s *stripper) word(rest string) {
	n := 1
	for n < len(rest) && (isWord(rest[n]) || rest[n] == '\'' && s.digitQuotes && rest[0] >= '0' && rest[0] <= '9') {
		n++
	}
	if end := s.prefixed(rest, n); end > 0 {
		s.literalOf(rest[:n], rest[:end])
		return
	}
	s.emit(rest[:n])
}

// emit writes a token, and what parts it from the last one.
func (s *stripper) emit(token string) {
	switch {
	case s.indent && s.newline:
		s.out.WriteString("\n" + s.src[s.line:s.pos])
	case s.out.Len() == 0:
	case s.newline:
		s.out.WriteByte('\n')
	case s.spaces || s.directive:
		if s.gap {
			s.out.WriteByte(' ')
		}
	default:
		s.out.WriteByte(0)
	}
	s.write(token)
}

func (s *stripper) write(token string) {
	s.out.WriteString(token)
	s.pos += len(token)
	s.bare, s.gap, s.newline, s.operator = false, false, false, 0
}

// punctuation writes one byte. Those of one operator stay together.
func (s *stripper) punctuation(c byte) {
	if c == '#' && s.directives && s.bare {
		s.newline, s.directive = true, true
	}
	switch {
	case s.indent && strings.IndexByte("([{", c) >= 0:
		s.brackets++
	case s.indent && strings.IndexByte(")]}", c) >= 0:
		s.brackets = max(s.brackets-1, 0)
	}
	if !s.gap && (strings.IndexByte("@#", c) >= 0 || s.operator != 0 && oneOperator(s.operator, c)) {
		s.write(string(c))
	} else {
		s.emit(string(c))
	}
	if strings.IndexByte("()[]{};,", c) < 0 {
		s.operator = c
	}
}

// oneOperator reports whether two bytes side by side may be of one operator.
func oneOperator(a, b byte) bool {
	return a == b || b == '=' || b == '>' || strings.Contains(" <- &^ ?. ?: .* =~ !~ <: ", " "+string(a)+string(b)+" ")
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// stripGo is the text of a Go file without comments and white space.
func stripGo(src string) (text string, ok bool) {
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", files.Base(), len(src)), []byte(src), nil, scanner.ScanComments)
	var out strings.Builder
	cgo := strings.Contains(src, `"C"`) // the comment before the import is C
	ended := false
	for {
		switch _, tok, lit := s.Scan(); {
		case tok == token.EOF:
			return out.String(), s.ErrorCount == 0
		case tok == token.COMMENT && !cgo && !isDirective(lit):
		case tok == token.SEMICOLON:
			ended = true
		default:
			if ended && tok != token.RBRACE && tok != token.RPAREN { // where it says nothing
				out.WriteString(";\x00")
			}
			ended = false
			out.WriteString(tok.String() + lit + "\x00")
		}
	}
}
