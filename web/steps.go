package web

import (
	"bytes"
	"math"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// trajectory is what an agent did, read from its transcript: the steps, and everything that was run and printed as one log.
type trajectory struct {
	task  string
	steps []step
	log   logText
	// open says that the last line may still grow.
	open bool
}

// step is one turn of an agent: what it said, what it ran, what came of it.
type step struct {
	N             int
	Said, Command string
	Exit          int // of the last command
	Ran           bool
	Lines         int // that were printed
	At            time.Time
	Took          time.Duration
	Cost          solve.Money
	Line          int // of the log, its first; 0 if it has none
}

// readTrajectory reads a transcript. What it cannot read, it leaves out.
func readTrajectory(transcript []byte) *trajectory {
	messages, _ := agent.ReadTranscript(transcript)
	s := &trajectory{}
	for i, m := range messages {
		switch raw, observed := m.Extra["raw_output"].(string); {
		case m.Role == agent.RoleAssistant:
			s.turn(m)
		case m.Role == agent.RoleOutput:
			last := i == len(messages)-1
			s.print(m, m.Content, !strings.HasSuffix(m.Content, "\n") && (last || messages[i+1].Role == agent.RoleOutput))
			s.open = last && len(s.log.data) > 0 && !bytes.HasSuffix(s.log.data, []byte("\n"))
		case observed:
			s.print(m, raw, false)
		case m.Role == agent.RoleTool:
			s.print(m, m.Content, false)
		case m.Role == agent.RoleStart, m.Role == agent.RoleUser && len(s.steps) == 0:
			s.task = m.Content
		}
	}
	s.log.split()
	return s
}

// turn begins a step with what the agent said and wants to run.
func (s *trajectory) turn(m agent.Message) {
	one := step{N: len(s.steps) + 1, Said: m.Content, Command: strings.Join(agent.Commands(m), "\n"), At: timeOf(m)}
	if usd, ok := m.Extra["cost"].(float64); ok {
		one.Cost = solve.Money(math.Round(usd * 1e6))
	}
	if one.Command != "" {
		one.Line = s.log.write("$ "+one.Command, false)
	}
	s.steps = append(s.steps, one)
}

// print adds output to the log and to the step that made it.
func (s *trajectory) print(m agent.Message, text string, open bool) {
	if len(s.steps) == 0 {
		s.steps = append(s.steps, step{N: 1, At: timeOf(m)})
	}
	last := &s.steps[len(s.steps)-1]
	if text != "" {
		first := s.log.write(text, open)
		if last.Line == 0 {
			last.Line = first
		}
		last.Lines += strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	}
	if why, _ := m.Extra["exception_info"].(string); why != "" {
		s.log.write("("+why+")", false)
	}
	if code, ok := m.Extra["returncode"].(float64); ok && (code >= 0 || m.Extra["exception_type"] != nil) { // else it was not run
		last.Exit, last.Ran = int(code), true
	}
	if at := timeOf(m); !at.IsZero() {
		last.Took = at.Sub(last.At)
	}
}

func timeOf(m agent.Message) time.Time {
	seconds, ok := m.Extra["timestamp"].(float64)
	if !ok {
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6)).UTC()
}

// logText is a log: its lines have absolute numbers, from 1.
type logText struct {
	data   []byte
	starts []int // of each line
	count  int   // lines while it is being written
}

// newLog is the log with this text.
func newLog(data []byte) logText {
	l := logText{data: data}
	l.split()
	return l
}

// write adds text that ends with a full line unless it is open, and returns the number of its first line.
func (l *logText) write(text string, open bool) (first int) {
	first, before := l.count+1, len(l.data)
	l.data = append(l.data, text...)
	if !open && !strings.HasSuffix(text, "\n") {
		l.data = append(l.data, '\n')
	}
	l.count += bytes.Count(l.data[before:], []byte("\n"))
	return first
}

// split finds the lines.
func (l *logText) split() {
	l.starts = make([]int, 0, bytes.Count(l.data, []byte("\n"))+1)
	for at := 0; at < len(l.data); {
		l.starts = append(l.starts, at)
		i := bytes.IndexByte(l.data[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
}

// lines is how many there are.
func (l *logText) lines() int { return len(l.starts) }

// end is where line n ends, its line break included.
func (l *logText) end(n int) int {
	if n < len(l.starts) {
		return l.starts[n]
	}
	return len(l.data)
}

// line is line n without its end.
func (l *logText) line(n int) []byte {
	return bytes.TrimSuffix(l.data[l.starts[n-1]:l.end(n)], []byte("\n"))
}
