package judge

import (
	"bytes"
	"fmt"
	"sync"
)

// Bounds of the output that is kept for people, in bytes.
const (
	keepHead = 1 << 20
	keepTail = 3 << 20
)

// maxLine is the longest line that is looked at; a longer one says nothing.
const maxLine = 1 << 20

// resultReader reads the results of tests from their output, line by line.
type resultReader interface {
	// line takes one line with its end, and returns what people are shown of it.
	line(line []byte, stdout bool) []byte
	// report is what the lines said of a run that ended with the exit code.
	report(exit int) (Report, error)
}

// outputReader takes both streams of a test command while it runs. It passes their lines to
// results and keeps the beginning and the end of the output, so the memory it takes does not
// grow with what tests print.
type outputReader struct {
	mu      sync.Mutex
	results resultReader
	text    excerpt
}

// stdout and stderr are the writers of the two streams.
func (o *outputReader) stdout() *lines { return &lines{do: func(line []byte) { o.line(line, true) }} }
func (o *outputReader) stderr() *lines { return &lines{do: func(line []byte) { o.line(line, false) }} }

// line takes one line, nil for one that was too long.
func (o *outputReader) line(line []byte, stdout bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if line == nil {
		o.text.add([]byte("[a line of more than 1 MiB]\n"))
		return
	}
	o.text.add(o.results.line(line, stdout))
}

// trimEnd removes a line's end.
func trimEnd(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }

// lines is a writer that calls do with each line, its end included.
type lines struct {
	do   func(line []byte)
	part []byte
	long bool
}

// Write never fails.
func (l *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n') + 1
		end := n > 0
		if !end {
			n = len(rest)
		}
		if l.long = l.long || len(l.part)+n > maxLine; l.long {
			l.part = nil
		} else {
			l.part = append(l.part, rest[:n]...)
		}
		if end {
			l.flush()
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// flush passes on what stands behind the last line end.
func (l *lines) flush() {
	if len(l.part) > 0 || l.long {
		l.do(l.part)
	}
	l.part, l.long = l.part[:0], false
}

// excerpt keeps the first and the last bytes of a text.
type excerpt struct {
	head, tail []byte
	lost       int64
}

func (e *excerpt) add(p []byte) {
	if room := keepHead - len(e.head); room > 0 {
		n := min(room, len(p))
		e.head, p = append(e.head, p[:n]...), p[n:]
	}
	e.tail = append(e.tail, p...)
	if len(e.tail) > 2*keepTail {
		n := len(e.tail) - keepTail
		e.lost += int64(n)
		e.tail = append(e.tail[:0], e.tail[n:]...)
	}
}

// bytes is what was kept, with a line for what was not.
func (e *excerpt) bytes() []byte {
	tail, lost := e.tail, e.lost
	if n := len(tail) - keepTail; n > 0 {
		tail, lost = tail[n:], lost+int64(n)
	}
	out := bytes.Clone(e.head)
	if lost > 0 {
		out = fmt.Appendf(out, "\n[%d bytes of output are not kept]\n", lost)
	}
	return append(out, tail...)
}
