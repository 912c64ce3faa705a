package swerex

import (
	"bytes"
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
)

// The scripts that run in the sandbox.
var (
	//go:embed shell/server.sh
	serverScript []byte
	//go:embed shell/call.sh
	callScript []byte
)

const (
	// shellDir is where the shells' files are.
	shellDir = agent.RunDir + "/rex"
	// margin is how much longer than its work a call may take, on a far and busy sandbox.
	margin = 2 * time.Minute
)

// launchShells starts the process in the sandbox that holds the shells, once. What an
// earlier owner of the sandbox launched ends first.
func (s *Server) launchShells() error {
	s.launching.Lock()
	defer s.launching.Unlock()
	if s.launcher != nil {
		return nil
	}
	l, err := sandbox.Launching(s.box)
	if err != nil {
		return err
	}
	if err := l.Halt(s.life); err != nil {
		return fmt.Errorf("start shells: %w", err)
	}
	if _, err := s.box.Exec(s.life, sandbox.Command{Argv: []string{"rm", "-rf", shellDir}, Timeout: margin}); err != nil {
		return fmt.Errorf("start shells: %w", err)
	}
	for name, data := range map[string][]byte{"server.sh": serverScript, "call.sh": callScript} {
		if err := (agent.File{Path: shellDir + "/" + name, Data: data, Mode: 0o755}).Put(s.life, s.box); err != nil {
			return fmt.Errorf("start shells: %w", err)
		}
	}
	// A shell cannot take back a signal that was ignored when it started, and an ignored
	// interrupt would reach no command.
	argv := []string{
		"bash", "-c", `env --default-signal=INT,QUIT true 2>/dev/null && exec env --default-signal=INT,QUIT "$@"; exec "$@"`,
		"bash", "bash", shellDir + "/server.sh", shellDir, strconv.FormatInt(s.output, 10), sandbox.RepoDir,
	}
	if err := l.Launch(s.life, sandbox.Command{Argv: argv, Path: sandbox.ToolPath()}); err != nil {
		return fmt.Errorf("start shells: %w", err)
	}
	s.launcher = l
	return nil
}

// haltShells ends that process and all shells.
func (s *Server) haltShells(ctx context.Context) error {
	s.launching.Lock()
	defer s.launching.Unlock()
	if s.launcher == nil {
		return nil
	}
	l := s.launcher
	s.launcher = nil
	return l.Halt(ctx)
}

// call is one call of call.sh.
type call struct {
	verb     string
	shell    string
	number   int64
	patience time.Duration
	input    string
}

// What became of a call, as call.sh says it.
const (
	stateDone    = "done"
	stateRunning = "running"
	stateDead    = "dead"
	stateOver    = "over" // an interrupt saw the end
	stateSyntax  = "syntax"
)

// errLost says that the server of the shells does not answer.
var errLost = errors.New("the shells of the sandbox are lost")

// called is the answer to a call.
type called struct {
	state  string
	code   int
	output []byte
	syntax string // what bash says of the syntax
}

// call makes one.
func (s *Server) call(c call) (called, error) {
	var stdin io.Reader
	if c.input != "" {
		stdin = strings.NewReader(c.input)
	}
	ran, err := sandbox.Capture(s.life, s.box, sandbox.Command{
		Argv: []string{
			"bash", shellDir + "/call.sh", shellDir, c.verb, c.shell, strconv.FormatInt(c.number, 10),
			strconv.FormatInt(c.patience.Milliseconds(), 10),
		},
		Stdin: stdin, Timeout: c.patience + margin, MaxOutput: s.output + 1<<16,
	})
	switch {
	case err != nil:
		return called{}, fmt.Errorf("%s shell: %w", c.verb, err)
	case ran.TimedOut:
		return called{}, fmt.Errorf("%s shell: the sandbox does not answer", c.verb)
	}
	first, rest, _ := bytes.Cut(ran.Stderr, []byte("\n"))
	state, code, _ := strings.Cut(string(first), " ")
	out := called{state: state, output: s.limited(ran.Stdout), syntax: string(rest)}
	switch state {
	case stateDone, stateDead, stateSyntax:
		if out.code, err = strconv.Atoi(strings.TrimSpace(code)); err != nil {
			return called{}, fmt.Errorf("%s shell: unexpected answer %q", c.verb, first)
		}
	case stateOver:
		out.code = interrupted
	case stateRunning:
	default:
		return called{}, fmt.Errorf("%s shell: %w", c.verb, errLost)
	}
	return out, nil
}

// limited adds a note to an output that reached the limit.
func (s *Server) limited(out []byte) []byte {
	if int64(len(out)) < s.output {
		return out
	}
	return fmt.Appendf(out[:s.output:s.output], "\n[the output is cut: it was longer than %d bytes]\n", s.output)
}
