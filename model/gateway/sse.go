package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	smallEvent = 8 << 10
	maxEvent   = 16 << 20
)

// splitter cuts a stream into events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
type splitter struct {
	scan   *bufio.Scanner
	body   io.Reader
	wait   func() // called before the splitter waits for more
	looked int    // bytes in which no event ends
	broken error  // why no more can be read, nil at the end
}

func newSplitter(body io.Reader, wait func()) *splitter {
	s := &splitter{body: body, wait: wait}
	s.scan = bufio.NewScanner(s)
	s.scan.Buffer(make([]byte, smallEvent), maxEvent)
	s.scan.Split(s.split)
	return s
}

// next returns the next event as it came, with the empty line at its end; it is good until the
// following call. At the end, what comes after the last empty line is an event, too, and then
// io.EOF comes. The error is bufio.ErrTooLong for an event that never ends.
func (s *splitter) next() ([]byte, error) {
	if s.scan.Scan() {
		return s.scan.Bytes(), nil
	}
	if err := s.scan.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// Read reads more of the stream, for the scanner.
func (s *splitter) Read(p []byte) (int, error) {
	s.wait()
	n, err := s.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.broken = err
	}
	return n, err
}

// split implements [bufio.SplitFunc].
func (s *splitter) split(data []byte, all bool) (int, []byte, error) {
	n := eventEnd(data, s.looked, all)
	if n == 0 && all && s.broken == nil {
		n = len(data)
	}
	if n > 0 {
		s.looked = 0
		return n, data[:n], nil
	}
	s.looked = max(len(data)-3, 0) // an end needs what stands before it
	return 0, nil, nil
}

// eventEnd is where the first event ends that has an empty line after it, 0 if none does.
// Lines end with LF, CRLF or CR.
func eventEnd(b []byte, from int, all bool) int {
	for {
		n := bytes.IndexAny(b[from:], "\r\n")
		if n < 0 {
			return 0
		}
		next := lineEnd(b, from+n, all)
		switch {
		case next == 0 || next == len(b):
			return 0
		case b[next] == '\n' || b[next] == '\r':
			return lineEnd(b, next, all)
		}
		from = next
	}
}

// lineEnd is where the line end is over that begins at i. It is 0 for a CR at the very end,
// which may be half of a CRLF unless that is all.
func lineEnd(b []byte, i int, all bool) int {
	switch {
	case b[i] == '\n':
		return i + 1
	case i+1 < len(b) && b[i+1] == '\n':
		return i + 2
	case i+1 < len(b) || all:
		return i + 1
	}
	return 0
}

// dataOf joins the lines of data of an event.
func dataOf(event []byte) []byte {
	var lines [][]byte
	for line := range bytes.FieldsFuncSeq(event, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			lines = append(lines, bytes.TrimPrefix(value, []byte(" ")))
		}
	}
	if len(lines) == 1 {
		return lines[0]
	}
	return bytes.Join(lines, []byte("\n"))
}
