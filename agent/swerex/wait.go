package swerex

import (
	"errors"
	"fmt"
	"time"
)

// interrupted is the exit code of a command that an interrupt ended.
const interrupted = 130

// outcome is what a wait for a command came to.
type outcome struct {
	ended  bool
	code   int
	output []byte
}

// busy is the number of the command that still runs, 0 if the shell is free.
func (one *session) busy() int {
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.running
}

// next makes the shell busy with a new command and returns its number.
func (one *session) next() int {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.number++
	one.running = one.number
	return one.number
}

// free makes the shell free if this is the command that runs.
func (one *session) free(number int) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.running == number {
		one.running = 0
	}
}

// wait makes a call and waits until the command ends or the time is over.
func (one *session) wait(c call, number int, end time.Time) (outcome, error) {
	c.shell, c.number = one.id, number
	for {
		c.patience = max(0, min(time.Until(end), slice))
		r, err := one.server.call(c)
		if err != nil {
			return outcome{}, err
		}
		switch r.state {
		case stateDone:
			one.free(number)
			return outcome{ended: true, code: r.code, output: one.limited(r.output)}, nil
		case stateOver: // an interrupt saw its end
			one.free(number)
			return outcome{ended: true, code: interrupted}, nil
		case stateSyntax:
			one.free(number)
			return outcome{}, wrongSyntax(c.input, r)
		case stateDead:
			return outcome{}, raise(classEOF, fmt.Sprintf("the shell has ended with exit code %d. Its output:\n%s", r.code, repr(shown(r.output))))
		}
		if !time.Now().Before(end) {
			return outcome{}, nil
		}
		c.verb, c.input = "wait", ""
	}
}

// limited adds a note to an output that reached the limit.
func (one *session) limited(out []byte) []byte {
	most := one.server.options.Output
	if int64(len(out)) < most {
		return out
	}
	return append(out[:most:most], fmt.Sprintf("\n[the output is cut: it was longer than %d bytes]\n", most)...)
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
