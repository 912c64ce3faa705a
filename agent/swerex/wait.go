package swerex

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// got is what a wait for a command came to.
type got struct {
	ended  bool
	code   int
	match  string // the pattern that was found, or the prompt
	output []byte
}

// busy is the command that goes on, as it stands; nil if the shell is free.
func (one *session) busy() *running {
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.going == nil {
		return nil
	}
	now := *one.going
	return &now
}

// next makes the shell busy with a new command.
func (one *session) next(interactive bool) *running {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.number++
	one.going = &running{number: one.number, interactive: interactive}
	now := *one.going
	return &now
}

// note keeps how much of a command's output was handed out, and that it has ended.
func (one *session) note(number, seen int, ended bool) {
	one.mu.Lock()
	defer one.mu.Unlock()
	switch {
	case one.going == nil || one.going.number != number:
	case ended:
		one.going = nil
	default:
		one.going.seen = max(one.going.seen, seen)
	}
}

// wait makes a call and waits until the command ends, prints what is expected, or the
// time is over. A busy shell is left as such.
func (one *session) wait(c call, on *running, end time.Time, patterns []*regexp.Regexp) (got, error) {
	c.shell, c.number, c.interactive = one.id, on.number, on.interactive
	c.partly = len(patterns) > 0
	most := slice
	if c.partly {
		most = quickSlice
	}
	for {
		c.seen = on.seen
		c.patience = max(0, min(time.Until(end), most))
		r, err := one.server.call(c)
		if err != nil {
			return got{}, err
		}
		if r.state == stateSyntax {
			one.note(on.number, 0, true)
			return got{}, wrongSyntax(c.input, r)
		}
		if g, over, err := one.judge(r, on, patterns); over {
			return g, err
		}
		if !time.Now().Before(end) {
			return got{}, nil
		}
		c.verb, c.input = "wait", ""
	}
}

// judge says whether an answer is the end of the wait.
func (one *session) judge(r called, on *running, patterns []*regexp.Regexp) (g got, over bool, err error) {
	match, from, to := find(patterns, r.output)
	switch r.state {
	case stateDone:
		one.note(on.number, 0, true)
		g = got{ended: true, code: r.code, match: prompt, output: one.noted(r.output)}
		if match != "" { // what was found is cut out
			g.match, g.output = match, append(append([]byte{}, r.output[:from]...), r.output[to:]...)
		}
		return g, true, nil
	case stateOver: // an interrupt saw its end
		one.note(on.number, 0, true)
		return got{ended: true, code: interrupted, match: prompt}, true, nil
	case stateDead:
		return got{}, true, raise(classEOF, fmt.Sprintf("the shell has ended with exit code %d. Its output:\n%s", r.code, repr(shown(r.output, on.interactive))))
	}
	if match == "" {
		return got{}, false, nil
	}
	one.note(on.number, on.seen+to, false)
	return got{match: match, output: r.output[:from]}, true, nil
}

// interrupted is the exit code of a command that an interrupt ended.
const interrupted = 130

// noted says of an output that reached the limit that it did.
func (one *session) noted(out []byte) []byte {
	most := one.server.options.Output
	if int64(len(out)) < most {
		return out
	}
	return append(out[:most:most], fmt.Sprintf("\n[the output is cut: it was longer than %d bytes]\n", most)...)
}

// find is the pattern that matches first, and where.
func find(patterns []*regexp.Regexp, in []byte) (match string, from, to int) {
	from = -1
	for _, p := range patterns {
		if at := p.FindIndex(in); at != nil && (from < 0 || at[0] < from) {
			match, from, to = p.String()[len("(?s)"):], at[0], at[1]
		}
	}
	return match, from, to
}

// wrongSyntax is what the original says of a command that bash cannot read.
func wrongSyntax(command string, r called) error {
	e := raise(classSyntax, fmt.Sprintf("Error (exit code %d) while checking bash command \n%s\n---- Stderr ----\n%s\n---- Stdout ----\n", r.code, repr(command), r.more))
	e.extra = map[string]any{"bash_stdout": "", "bash_stderr": r.more}
	return e
}

// isClass reports whether an error is an exception of that class.
func isClass(err error, class string) bool {
	var e *exception
	return errors.As(err, &e) && e.class == class
}
