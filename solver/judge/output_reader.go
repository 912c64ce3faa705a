package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/yudai-dev/yudai/solve"
)

// Bounds of the output that is kept for people, in bytes.
const (
	keepHead = 1 << 20
	keepTail = 3 << 20
)

// maxLine is the longest line that is looked at; a longer one says nothing.
const maxLine = 1 << 20

// outputReader hears both streams of a test command while it runs. It reads results
// line by line and keeps the beginning and the end of the output, so the memory
// it takes does not grow with what tests print.
type outputReader struct {
	mu     sync.Mutex
	format string
	events goReader
	points tapReader
	crates cargoReader
	words  exitReader
	text   excerpt
	err    error // why the results cannot be read
}

func newOutputReader(cmd solve.TestCommand) *outputReader {
	return &outputReader{format: cmd.Format, events: newGoReader()}
}

// stdout and stderr are the writers of the two streams.
func (l *outputReader) stdout() *lines { return &lines{do: func(line []byte) { l.line(line, true) }} }
func (l *outputReader) stderr() *lines { return &lines{do: func(line []byte) { l.line(line, false) }} }

// line takes one line, nil for one that was too long.
func (l *outputReader) line(line []byte, out bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.format == "go" && out && len(line) > 0 && line[0] == '{' {
		var e goEvent
		if json.Unmarshal(line, &e) == nil && e.Action != "" {
			if l.err == nil {
				l.err = l.events.add(e)
			}
			l.text.add([]byte(e.Output))
			return
		}
	}
	switch text := bytes.TrimRight(line, "\r\n"); {
	case l.format == "exit":
		l.words.line(text)
	case l.format == "cargo" && l.err == nil:
		if l.crates.line(text); len(l.crates.tests.Tests) > maxTests {
			l.err = errTooMany
		}
	case l.format == "tap" && out && l.err == nil:
		if l.points.line(string(text)); len(l.points.report.Tests) > maxTests {
			l.err = errTooMany
		}
	}
	if line == nil {
		line = []byte("[a line of more than 1 MiB]\n")
	}
	l.text.add(line)
}

// report is what was heard, for the formats that are read from the output.
func (l *outputReader) report(exit int) (Report, error) {
	switch l.format {
	case "go":
		return l.events.report(), l.err
	case "tap":
		return l.points.end(exit), l.err
	case "cargo":
		return l.crates.end(), l.err
	}
	return l.words.report(exit), nil
}

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

// readAll reads a whole output at once.
func (l *outputReader) readAll(output []byte) {
	w := l.stdout()
	_, _ = w.Write(output) // never fails
	w.flush()
}
