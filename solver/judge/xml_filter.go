package judge

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// maxAttr is the most that is read of an attribute's value, in bytes.
const maxAttr = 64 << 10

// xmlFilter reads an XML file without text, CDATA and comments, which contain the tests' output
// and can be larger than memory, and without the ends of long attribute values. It replaces
// what test output contains and XML does not allow: control characters and invalid UTF-8.
type xmlFilter struct {
	in      *bufio.Reader
	foreign bool // the file says that it is in another encoding
	pending []byte
	state   xmlState
	quote   rune
	value   int  // bytes of the open attribute value
	entity  bool // a reference is open in it
	nested  int  // open < of a directive
	last    [2]rune
	any     bool // something that is no white space was read
}

type xmlState int

const (
	xmlText xmlState = iota
	xmlTag
	xmlInstruction // <? ... ?>
	xmlDirective   // <!DOCTYPE ... >
	xmlData        // <![CDATA[ ... ]]>
	xmlComment     // <!-- ... -->
)

func newXMLFilter(in io.Reader) *xmlFilter {
	s := &xmlFilter{in: bufio.NewReaderSize(in, 32<<10)}
	head, _ := s.in.Peek(200) // what is there
	first, _, _ := bytes.Cut(bytes.ToLower(head), []byte("?>"))
	s.foreign = bytes.Contains(first, []byte("encoding=")) && !bytes.Contains(first, []byte("utf-8"))
	return s
}

// Read is io.Reader.
func (s *xmlFilter) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c, err := s.ReadByte()
		if err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		p[n] = c
		n++
	}
	return n, nil
}

// ReadByte is io.ByteReader.
func (s *xmlFilter) ReadByte() (byte, error) {
	for len(s.pending) == 0 {
		s.skip()
		c, size, err := s.in.ReadRune()
		if err != nil {
			return 0, err
		}
		switch {
		case c == utf8.RuneError && size == 1 && s.foreign:
			c = '?'
		case c < ' ' && c != '\n' && c != '\r' && c != '\t', c == 0xFFFE, c == 0xFFFF:
			c = '?'
		}
		s.any = s.any || !strings.ContainsRune(" \t\r\n", c)
		if s.wanted(c) {
			s.pending = utf8.AppendRune(s.pending[:0], c)
		}
	}
	c := s.pending[0]
	s.pending = s.pending[1:]
	return c, nil
}

// skip discards what is buffered already and not needed.
func (s *xmlFilter) skip() {
	part, _ := s.in.Peek(s.in.Buffered()) // it is there
	n := 0
	switch s.state {
	case xmlText:
		if n = bytes.IndexByte(part, '<'); n < 0 {
			n = len(part)
		}
		s.any = s.any || len(bytes.TrimSpace(part[:n])) > 0
	case xmlData, xmlComment: // all but the two characters before a bracket
		if n = bytes.IndexByte(part, '>'); n < 0 {
			n = len(part)
		}
		n = max(0, n-2)
	}
	_, _ = s.in.Discard(n) // it is there
}

// wanted reports whether the character is passed on.
func (s *xmlFilter) wanted(c rune) bool {
	was := s.last
	s.last = [2]rune{was[1], c}
	switch s.state {
	case xmlText:
		return c == '<' && s.open()
	case xmlData, xmlComment:
		end := map[xmlState]rune{xmlData: ']', xmlComment: '-'}[s.state]
		if c == '>' && was == [2]rune{end, end} {
			s.state = xmlText
		}
		return false
	case xmlInstruction:
		if c == '>' && was[1] == '?' {
			s.state = xmlText
		}
	case xmlDirective:
		s.nested += map[rune]int{'<': 1, '>': -1}[c]
		if s.nested == 0 {
			s.state = xmlText
		}
	case xmlTag:
		return s.tag(c)
	}
	return true
}

// open sets the state after a < in text, and reports whether the character is passed on.
func (s *xmlFilter) open() bool {
	next, _ := s.in.Peek(8)
	s.state, s.quote, s.last = xmlTag, 0, [2]rune{}
	switch {
	case bytes.HasPrefix(next, []byte("![CDATA[")):
		s.state = xmlData
		_, _ = s.in.Discard(8) // peeked
		return false
	case bytes.HasPrefix(next, []byte("!--")):
		s.state = xmlComment
		_, _ = s.in.Discard(3)
		return false
	case bytes.HasPrefix(next, []byte("?")):
		s.state = xmlInstruction
	case bytes.HasPrefix(next, []byte("!")):
		s.state, s.nested = xmlDirective, 1
	}
	return true
}

// tag follows the quotes of a tag and cuts long values, never inside a reference.
func (s *xmlFilter) tag(c rune) bool {
	switch {
	case s.quote == 0 && (c == '"' || c == '\''):
		s.quote, s.value, s.entity = c, 0, false
	case s.quote == 0 && c == '>':
		s.state = xmlText
	case s.quote == c:
		s.quote = 0
	case s.quote != 0:
		s.value += utf8.RuneLen(c)
		open := s.entity
		s.entity = c == '&' && s.value <= maxAttr || open && c != ';'
		return s.value <= maxAttr || open && s.value <= 2*maxAttr
	}
	return true
}
