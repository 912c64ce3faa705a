// Package fault says why work on a solve ended: it was refused, something outside failed,
// the store decided, or the process stops. What to do next follows from that.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// ErrStopping is the cause with which work ends when the process does: states stay as
// they are, and the next process goes on.
var ErrStopping = errors.New("yudai is stopping")

// Stopping reports whether the process is what ended ctx.
func Stopping(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrStopping)
}

// Refusal is a reason to say no that the asker can mend.
type Refusal struct {
	Text   string // people see it
	Denied bool   // the actor may not ask at all
	Silent bool   // nobody is told
	Final  bool   // of a run, too: another try gives the same
}

// Error is the public text.
func (r Refusal) Error() string { return r.Text }

// Refuse returns a refusal with that text.
func Refuse(text string) error { return Refusal{Text: text} }

// Refusef returns a refusal with a formatted text.
func Refusef(format string, args ...any) error { return Refuse(fmt.Sprintf(format, args...)) }

// Outside marks what GitHub, or its git server, answered. The maker of the error says
// whether another try can help.
type Outside struct{ Err error }

// Error is that of the error within.
func (o Outside) Error() string { return o.Err.Error() }

// Unwrap returns the error within.
func (o Outside) Unwrap() error { return o.Err }

// Decided reports whether the store refused a change: another try gives the same answer.
func Decided(err error) bool {
	return errors.Is(err, solve.ErrLeaseLost) || errors.Is(err, solve.ErrTransition) || errors.Is(err, solve.ErrNotFound)
}

// Hopeless reports whether a sandbox is refused because of the settings: no other try helps.
func Hopeless(err error) bool {
	var no Refusal
	if errors.As(err, &no) {
		return no.Final
	}
	return errors.Is(err, sandbox.ErrSetting) && !errors.Is(err, sandbox.ErrUnavailable) && !errors.Is(err, sandbox.ErrCapacity)
}

// RetryAfter is how long the error itself asks to wait, 0 if it does not.
func RetryAfter(err error) time.Duration {
	var limited interface{ RetryAfter() time.Duration }
	if errors.As(err, &limited) {
		return limited.RetryAfter()
	}
	return 0
}

// Temporary reports whether the maker of the error says that another try can help.
func Temporary(err error) bool {
	var t interface{ Temporary() bool }
	if errors.As(err, &t) {
		return t.Temporary()
	}
	return RetryAfter(err) > 0
}

// Public is what people see of an error: what its maker offers for that, else its first
// line. Details stay in the log.
func Public(err error) string {
	text := err.Error()
	var offered interface{ Public() string }
	if errors.As(err, &offered) {
		text = offered.Public()
	}
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > 300 {
		text = solve.CutText(text, 300) + "…"
	}
	return text
}

// Log logs an error unless ctx has ended, or what was looked for is not there.
func Log(ctx context.Context, err error, message string) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, solve.ErrNotFound) {
		zerolog.Ctx(ctx).Error().Err(err).Msg(message)
	}
}
