package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/output"
)

// Files go in and out through a process inside the sandbox: whatever links the
// code has planted, they lead nowhere but where that process could go anyway.

// Exit codes by which our scripts speak.
const (
	exitMissing = 92
	exitPath    = 93
)

// A name may end with newlines, which $(...) removes: hence the dot that is
// appended and cut off again.

// putScript writes standard input to $1 with mode $2, in one step.
const putScript = `
d=${1%/*}
mkdir -p -- "$d" || exit 93
r=$(realpath -e -- "$d" && echo .) || exit 93
r=${r%??}
case $r/ in /workspace/*|/tmp/*) ;; *) exit 93 ;; esac
f=$r/${1##*/}
[ -d "$f" ] && [ ! -L "$f" ] && exit 93
t=$(mktemp "$r/.yudai-XXXXXXXX" && echo .) || exit 1
t=${t%??}
cat >"$t" && chmod "$2" "$t" && mv -fT -- "$t" "$f" && exit 0
rm -f -- "$t"
exit 1`

// getScript announces a regular file $1 with a line and then sends it.
const getScript = `
[ -e "$1" ] || [ -L "$1" ] || exit 92
[ -f "$1" ] && [ ! -L "$1" ] || exit 93
r=$(realpath -e -- "$1" && echo .) || exit 93
r=${r%??}
case $r in /workspace/*|/tmp/*) ;; *) exit 93 ;; esac
echo file
exec cat -- "$r"`

// Put writes a file in one step: readers see the old content or the new. A link
// at the place is replaced, not followed.
func (b *box) Put(ctx context.Context, p string, r io.Reader, mode fs.FileMode) error {
	if err := sandbox.CheckPath(p); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	failpoint.Hit("sandbox", "put", "before")
	defer failpoint.Hit("sandbox", "put", "after")
	var said tail
	res, err := b.run(ctx, sandbox.Command{
		Argv: []string{"/bin/sh", "-c", putScript, "put", path.Clean(p), fmt.Sprintf("%04o", mode.Perm())},
		Dir:  "/", Stdin: r, Stderr: &said,
	}, manner{patience: output.Patience, strictInput: true})
	switch {
	case err != nil:
		return fmt.Errorf("put %s: %w", p, err)
	case res.ExitCode == exitPath:
		return fmt.Errorf("put %q: %w", p, sandbox.ErrPath)
	case res.ExitCode != 0:
		return fmt.Errorf("put %s: exit %d: %s", p, res.ExitCode, strings.TrimSpace(said.String()))
	}
	return nil
}

// Get opens a regular file. The reader must be closed; it ends with the
// context and with the sandbox.
func (b *box) Get(ctx context.Context, p string) (io.ReadCloser, error) {
	if err := sandbox.CheckPath(p); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	failpoint.Hit("sandbox", "get", "before")
	defer failpoint.Hit("sandbox", "get", "after")
	ctx, cancel := context.WithCancel(ctx)
	out, in := io.Pipe()
	g := &getter{pipe: out, cancel: cancel, done: make(chan struct{})}
	// A reader that nobody reads or closes must not hold the command, and with it Close.
	calm := context.AfterFunc(ctx, func() { _ = in.CloseWithError(context.Cause(ctx)) })
	free := context.AfterFunc(b.life, func() { _ = in.CloseWithError(context.Cause(b.life)) })
	go func() {
		defer close(g.done)
		defer calm()
		defer free()
		res, err := b.run(ctx, sandbox.Command{
			Argv: []string{"/bin/sh", "-c", getScript, "get", path.Clean(p)},
			Dir:  "/", Stdout: in, MaxOutput: noLimit,
		}, manner{patience: time.Duration(math.MaxInt64)})
		_ = in.CloseWithError(getError(res, err))
	}()
	g.from = bufio.NewReader(out)
	if _, err := g.from.ReadString('\n'); err != nil {
		_ = g.Close()
		return nil, fmt.Errorf("get %s: %w", p, err)
	}
	return g, nil
}

// getError says how a reader ends.
func getError(res sandbox.Result, err error) error {
	switch {
	case err != nil:
		return err
	case res.ExitCode == exitMissing:
		return fs.ErrNotExist
	case res.ExitCode == exitPath:
		return sandbox.ErrPath
	case res.ExitCode != 0:
		return fmt.Errorf("read ended with exit %d", res.ExitCode)
	}
	return nil // io.EOF for the reader
}

// getter is an open file.
type getter struct {
	from   *bufio.Reader
	pipe   *io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

// Read reads on.
func (g *getter) Read(p []byte) (int, error) { return g.from.Read(p) }

// Close ends the reading process.
func (g *getter) Close() error {
	g.cancel()
	_ = g.pipe.CloseWithError(errors.New("closed"))
	<-g.done
	return nil
}
