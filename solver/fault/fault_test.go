package fault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// limited is an error that says when to ask again, and what people may see.
type limited struct{}

func (limited) Error() string             { return "secret detail" }
func (limited) RetryAfter() time.Duration { return time.Minute }
func (limited) Public() string            { return "limited\nmore" }

func TestWhatFollows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err                          error
		temporary, decided, hopeless bool
		public                       string
	}{
		"a plain error":       {err: errors.New("one\ntwo"), public: "one"},
		"a limit":             {err: fault.Outside{Err: fmt.Errorf("call: %w", limited{})}, temporary: true, public: "limited"},
		"a lost lease":        {err: solve.ErrLeaseLost, decided: true, public: solve.ErrLeaseLost.Error()},
		"a refusal":           {err: fault.Refusef("no %s", "way"), public: "no way"},
		"a final refusal":     {err: fault.Refusal{Text: "never", Final: true}, hopeless: true, public: "never"},
		"a refused setting":   {err: sandbox.ErrSetting, hopeless: true, public: sandbox.ErrSetting.Error()},
		"elsewhere it may do": {err: errors.Join(sandbox.ErrSetting, sandbox.ErrCapacity), public: sandbox.ErrSetting.Error()},
		"a long text":         {err: errors.New(strings.Repeat("x", 400)), public: strings.Repeat("x", 300) + "…"},
	} {
		if fault.Temporary(c.err) != c.temporary || fault.Decided(c.err) != c.decided || fault.Hopeless(c.err) != c.hopeless {
			t.Errorf("%s: temporary %t, decided %t, hopeless %t", name, fault.Temporary(c.err), fault.Decided(c.err), fault.Hopeless(c.err))
		}
		if got := fault.Public(c.err); got != c.public {
			t.Errorf("%s: people see %q, want %q", name, got, c.public)
		}
	}
}

func TestStopping(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	if fault.Stopping(ctx) {
		t.Error("the context has not ended")
	}
	stop(fault.ErrStopping)
	if !fault.Stopping(ctx) {
		t.Error("the context has ended with the process")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if fault.Stopping(cancelled) {
		t.Error("a cancel is taken for the end of the process")
	}
}
