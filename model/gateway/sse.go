package gateway

import (
	"bytes"
	"errors"
	"io"
)

// frame is one event of a stream.
type frame struct {
	raw  []byte // as it came, the empty line included; good until the next one
	data []byte // the lines of data, joined
}

// errFrame says that an event has no end.
var errFrame = errors.New("event too long")

const (
	smallFrame = 8 << 10
	maxFrame   = 16 << 20
)

// splitter cuts a stream into events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
type splitter struct {
	r          io.Reader
	buf        []byte
	begin, end int // what was read and not given out
	err        error
}

func newSplitter(r io.Reader) *splitter { return &splitter{r: r, buf: make([]byte, smallFrame)} }

// next returns the next event. With an error it returns what came after the last one.
func (s *splitter) next() (frame, error) {
	looked := 0
	for {
		if n := frameEnd(s.buf[s.begin:s.end], looked, s.err != nil); n > 0 {
			raw := s.buf[s.begin : s.begin+n]
			s.begin += n
			return frame{raw, dataOf(raw)}, nil
		}
		if s.err != nil {
			raw := s.buf[s.begin:s.end]
			s.begin = s.end
			return frame{raw, dataOf(raw)}, s.err
		}
		// An end needs what stands before it: the last three bytes are looked at again.
		looked = max(s.end-s.begin-3, 0)
		if err := s.room(); err != nil {
			return frame{}, err
		}
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		s.err = err
	}
}

// more reports whether another whole event is there already.
func (s *splitter) more() bool { return frameEnd(s.buf[s.begin:s.end], 0, s.err != nil) > 0 }

// room makes some for the next read.
func (s *splitter) room() error {
	if s.begin == s.end {
		s.begin, s.end = 0, 0
		if len(s.buf) > 16*smallFrame { // one long event need not cost memory for ever
			s.buf = make([]byte, smallFrame)
		}
	}
	if s.end < len(s.buf) {
		return nil
	}
	if s.begin > 0 {
		s.end = copy(s.buf, s.buf[s.begin:s.end])
		s.begin = 0
		return nil
	}
	if len(s.buf) >= maxFrame {
		return errFrame
	}
	bigger := make([]byte, 2*len(s.buf))
	s.end = copy(bigger, s.buf[:s.end])
	s.buf = bigger
	return nil
}

// frameEnd is where the first event ends that has an empty line after it, 0 if none
// does. Lines end with LF, CRLF or CR; a CR at the very end may be half of a CRLF.
func frameEnd(b []byte, from int, all bool) int {
	for i := from; i < len(b); {
		n := bytes.IndexAny(b[i:], "\r\n")
		if n < 0 {
			return 0
		}
		first, ok := lineEnd(b, i+n, all)
		if !ok {
			return 0
		}
		if first == len(b) {
			return 0
		}
		if b[first] == '\n' || b[first] == '\r' {
			end, ok := lineEnd(b, first, all)
			if !ok {
				return 0
			}
			return end
		}
		i = first
	}
	return 0
}

// lineEnd is where the line end is over that begins at i.
func lineEnd(b []byte, i int, all bool) (int, bool) {
	if b[i] == '\n' {
		return i + 1, true
	}
	if i+1 == len(b) {
		return i + 1, all
	}
	if b[i+1] == '\n' {
		return i + 2, true
	}
	return i + 1, true
}

// dataOf joins the lines of data of an event.
func dataOf(raw []byte) []byte {
	var out []byte
	lines := 0
	for len(raw) > 0 {
		line := raw
		if n := bytes.IndexAny(raw, "\r\n"); n >= 0 {
			line, raw = raw[:n], raw[n+1:]
		} else {
			raw = nil
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		switch lines++; lines {
		case 1:
			out = value
			continue
		case 2:
			out = bytes.Clone(out) // it is still the stream's
		}
		out = append(append(out, '\n'), value...)
	}
	return out
}
