package swerex

import (
	"fmt"
	"io"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// readScript prints the file $1, or says what is wrong with it.
const readScript = `f=$1
[ -e "$f" ] || { echo missing >&2; exit 1; }
[ ! -d "$f" ] || { echo directory >&2; exit 1; }
[ ! -p "$f" ] || { echo a pipe >&2; exit 1; }
[ -r "$f" ] || { echo denied >&2; exit 1; }
exec cat -- "$f"`

// writeScript makes the file $1 of its input, and its directories.
const writeScript = `f=$1
d=$(dirname -- "$f")
mkdir -p -- "$d" 2>/dev/null || { [ -e "$d" ] && echo nodirectory >&2 || echo denied >&2; exit 1; }
[ ! -d "$f" ] || { echo directory >&2; exit 1; }
[ ! -p "$f" ] || { echo a pipe >&2; exit 1; }
[ ! -e "$f" ] || [ -w "$f" ] || { echo denied >&2; exit 1; }
[ -e "$f" ] || [ -w "$d" ] || { echo denied >&2; exit 1; }
cat >"$f"`

// unpackScript unpacks the archive that is its input in the directory $1.
const unpackScript = `mkdir -p -- "$1" && exec tar -x -f - -C "$1"`

// readFile serves /read_file.
func (s *Server) readFile(r readFile) (any, error) {
	path := s.paths.text(*r.Path)
	ran, err := s.script(readScript, path, nil, s.options.File)
	switch {
	case err != nil:
		return nil, err
	case ran.ExitCode != 0:
		return nil, wrongFile(ran, *r.Path)
	case ran.Truncated:
		return nil, raise(classOS, "[Errno 27] File too large: "+repr(*r.Path))
	}
	text, err := decodeText(ran.Stdout, r.Encoding, r.Errors)
	if err != nil {
		return nil, err
	}
	return fileRead{Content: text}, nil
}

// writeFile serves /write_file.
func (s *Server) writeFile(w writeFile) (any, error) {
	return nothing{}, s.put(*w.Path, []byte(*w.Content))
}

// put writes one file.
func (s *Server) put(name string, data []byte) error {
	path := s.paths.text(name)
	ran, err := s.script(writeScript, path, strings.NewReader(string(data)), 1<<16)
	if err != nil {
		return err
	}
	if ran.ExitCode != 0 {
		return wrongFile(ran, name)
	}
	return nil
}

// script runs one of ours on a path.
func (s *Server) script(text, path string, stdin io.Reader, most int64) (sandbox.Captured, error) {
	ran, err := sandbox.Capture(s.life, s.box, sandbox.Command{
		Argv: []string{"bash", "-c", text, "bash", path}, Stdin: stdin, Timeout: margin, MaxOutput: most,
	})
	if err == nil && ran.TimedOut {
		err = fmt.Errorf("the sandbox does not answer within %s", margin)
	}
	if err != nil {
		return sandbox.Captured{}, fmt.Errorf("file %s: %w", path, err)
	}
	return ran, nil
}

// wrongFile is what Python would raise.
func wrongFile(ran sandbox.Captured, name string) error {
	said := strings.TrimSpace(string(ran.Stderr))
	switch said {
	case "missing":
		return missing(name)
	case "directory":
		return raise(classDirectory, "[Errno 21] Is a directory: "+repr(name))
	case "nodirectory":
		return raise(classNoDirectory, "[Errno 20] Not a directory: "+repr(name))
	case "denied":
		return raise(classDenied, "[Errno 13] Permission denied: "+repr(name))
	}
	return raise(classOS, fmt.Sprintf("%s: %s", repr(name), said))
}
