package swerex

import (
	"crypto/rand"
	"fmt"
	"strconv"

	"github.com/yudai-dev/yudai/sandbox"
)

// executeScript runs one program. Arguments: a mark for our own messages, the
// directory, "merge", "clean" for an environment of its own, the number of its
// variables, these, the program and its arguments.
const executeScript = `mark=$1 dir=$2 merge=$3 clean=$4 n=$5
shift 5
vars=("${@:1:n}")
shift "$n"
env=$(type -P env)
[ -z "$dir" ] || cd -- "$dir" 2>/dev/null || { echo "$mark dir" >&2; exit 1; }
[ -z "$merge" ] || exec 2>&1
if [ -n "$clean" ]; then
  PATH=/bin:/usr/bin
  for v in "${vars[@]}"; do [[ $v != PATH=* ]] || PATH=${v#PATH=}; done
fi
type -P -- "$1" >/dev/null || { echo "$mark program" >&2; exit 1; }
[ -z "$clean" ] || exec "$env" -i "${vars[@]}" "$@"
exec "$@"`

// execute serves /execute: one program, apart from all shells.
func (s *Server) execute(c command) (any, error) {
	argv, err := c.argv()
	if err != nil {
		return nil, err
	}
	var dir, clean string
	if c.Dir != nil {
		dir = s.paths.text(*c.Dir)
	}
	var vars []string
	if c.Env != nil {
		clean = "clean"
		for k, v := range c.Env {
			vars = append(vars, k+"="+s.paths.text(v))
		}
	}
	mark := rand.Text()
	args := append([]string{"bash", "-c", executeScript, "bash", mark, dir, word(c.Merge, "merge"), clean, strconv.Itoa(len(vars))}, vars...)
	for _, a := range argv {
		args = append(args, s.paths.text(a))
	}
	limit := seconds(c.Timeout)
	if c.Timeout == nil {
		limit = 0
	} else if limit == 0 {
		return nil, tooLong(c)
	}
	ran, err := sandbox.Capture(s.life, s.box, sandbox.Command{
		Argv: args, Path: sandbox.ToolPath(), Timeout: limit, MaxOutput: s.options.Output,
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("execute: %w", err)
	case ran.TimedOut:
		return nil, tooLong(c)
	}
	// With merged streams the mark is in stdout.
	switch string(ran.Stderr) + string(ran.Stdout) {
	case mark + " dir\n":
		return nil, missing(*c.Dir)
	case mark + " program\n":
		return nil, missing(argv[0])
	}
	return c.judge(executed{Stdout: escaped(ran.Stdout), Stderr: escaped(ran.Stderr), ExitCode: ran.ExitCode})
}

// judge raises what the client wants raised.
func (c command) judge(out executed) (any, error) {
	if c.Check && out.ExitCode != 0 {
		return nil, nonZero(c.ErrorMsg, fmt.Sprintf("Command %s failed with exit code %d. Stdout:\n%s\nStderr:\n%s",
			reprCommand(c.Command), out.ExitCode, repr(out.Stdout), repr(out.Stderr)))
	}
	return out, nil
}

func tooLong(c command) error {
	return raise(classTimeout, "Timeout ("+number(c.Timeout)+"s) exceeded while running command")
}

func missing(path string) error {
	return raise(classNotFound, "[Errno 2] No such file or directory: "+repr(path))
}
