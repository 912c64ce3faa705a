package swerex

import (
	"bytes"
	"context"
	_ "embed" // the scripts
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// The scripts that run in the sandbox.
var (
	//go:embed shell/server.sh
	serverScript []byte
	//go:embed shell/call.sh
	callScript []byte
)

// margin is how much longer than its work a call may take, on a far and busy sandbox.
const margin = 2 * time.Minute

// shells is the process in the sandbox that holds the shells. It is launched for the
// first of them.
type shells struct {
	mu       sync.Mutex
	launcher sandbox.Launcher // nil: not launched
}

// start launches it, once. What an earlier owner of the sandbox launched ends first.
func (k *shells) start(ctx context.Context, box sandbox.Sandbox, o Options) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.launcher != nil {
		return nil
	}
	l, err := launchShells(ctx, box, o)
	if err != nil {
		return fmt.Errorf("start shells: %w", err)
	}
	k.launcher = l
	return nil
}

func launchShells(ctx context.Context, box sandbox.Sandbox, o Options) (sandbox.Launcher, error) {
	l, err := sandbox.Launching(box)
	if err != nil {
		return nil, err
	}
	if err := l.Halt(ctx); err != nil {
		return nil, err
	}
	if _, err := box.Exec(ctx, sandbox.Command{Argv: []string{"rm", "-rf", o.Dir}, Timeout: margin}); err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"server.sh": serverScript, "call.sh": callScript} {
		if err := box.Put(ctx, o.Dir+"/"+name, bytes.NewReader(data), 0o755); err != nil {
			return nil, err
		}
	}
	// A shell cannot take back a signal that was ignored when it started, and an ignored
	// interrupt would reach no command.
	argv := []string{
		"bash", "-c", `env --default-signal=INT,QUIT true 2>/dev/null && exec env --default-signal=INT,QUIT "$@"; exec "$@"`,
		"bash", "bash", o.Dir + "/server.sh", o.Dir, strconv.FormatInt(o.Output, 10), o.Tree,
	}
	return l, l.Launch(ctx, sandbox.Command{Argv: argv, Path: sandbox.ToolPath()})
}

// halt ends it and all shells.
func (k *shells) halt(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.launcher == nil {
		return nil
	}
	l := k.launcher
	k.launcher = nil
	return l.Halt(ctx)
}

// call is one call of call.sh.
type call struct {
	verb     string
	shell    string
	number   int
	patience time.Duration
	input    string
}

// What became of a call, as call.sh says it.
const (
	stateDone    = "done"
	stateRunning = "running"
	stateDead    = "dead"
	stateOver    = "over"
	stateSyntax  = "syntax"
)

// called is the answer to a call.
type called struct {
	state  string
	code   int
	output []byte
	more   string // what bash says of the syntax
}

// call makes one.
func (s *Server) call(c call) (called, error) {
	args := []string{
		"bash", s.options.Dir + "/call.sh", s.options.Dir, c.verb, c.shell, strconv.Itoa(c.number),
		strconv.FormatInt(c.patience.Milliseconds(), 10),
	}
	ran, err := sandbox.Capture(s.life, s.box, sandbox.Command{
		Argv: args, Stdin: input(c.input), Timeout: c.patience + margin, MaxOutput: s.options.Output + 1<<16,
	})
	switch {
	case err != nil:
		return called{}, fmt.Errorf("%s shell: %w", c.verb, err)
	case ran.TimedOut:
		return called{}, fmt.Errorf("%s shell: the sandbox does not answer", c.verb)
	}
	first, rest, _ := strings.Cut(string(ran.Stderr), "\n")
	state, code, _ := strings.Cut(first, " ")
	out := called{state: state, output: ran.Stdout, more: rest}
	switch state {
	case stateDone, stateDead, stateSyntax:
		if out.code, err = strconv.Atoi(strings.TrimSpace(code)); err != nil {
			return called{}, fmt.Errorf("%s shell: unexpected answer %q", c.verb, first)
		}
	case stateRunning, stateOver:
	default:
		return called{}, fmt.Errorf("%s shell: %w", c.verb, errLost)
	}
	return out, nil
}

// input is nil for the empty text: then a command has no input.
func input(text string) io.Reader {
	if text == "" {
		return nil
	}
	return bytes.NewBufferString(text)
}

func word(yes bool, w string) string {
	if yes {
		return w
	}
	return ""
}
