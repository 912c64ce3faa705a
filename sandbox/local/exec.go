package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/output"
)

const (
	// longScript is where a command's text goes through a file instead of argv,
	// where one string may have 128 KiB.
	longScript = 96 << 10
)

// manner is how our own commands (Put, Get) differ from a caller's.
type manner struct {
	patience    time.Duration // of the stream
	strictInput bool          // a failing stdin kills the command before it sees the end of it
}

// Exec runs one command in namespaces of its own.
func (b *box) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	failpoint.Hit("sandbox", "exec", "before")
	defer failpoint.Hit("sandbox", "exec", "after")
	return b.run(ctx, c, manner{patience: output.Patience})
}

// run is Exec with a manner.
func (b *box) run(ctx context.Context, c sandbox.Command, m manner) (sandbox.Result, error) {
	res, err := b.attempt(ctx, c, m)
	if err != nil {
		return res, fmt.Errorf("exec in sandbox %s: %w", b.record.Name, b.lost(err))
	}
	return res, nil
}

func (b *box) attempt(ctx context.Context, c sandbox.Command, m manner) (sandbox.Result, error) {
	if err := c.Check(); err != nil {
		return sandbox.Result{}, err
	}
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	if err := context.Cause(ctx); err != nil {
		return sandbox.Result{}, err
	}
	h, err := b.stage(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	j, err := b.newJob(c, m)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer j.close()
	return b.follow(ctx, h, j)
}

// job is one command on its way: what is sent to the stage, and our ends.
type job struct {
	command sandbox.Command
	manner  manner
	argv    []string
	theirs  []*os.File // descriptors for the stage
	gate    *os.File   // one byte lets the command start
	stdin   *os.File   // nil: empty
	budget  *output.Budget
	streams []*stream
}

// newJob makes pipes and memory files.
func (b *box) newJob(c sandbox.Command, m manner) (_ *job, err error) {
	limit := c.MaxOutput
	if limit == 0 {
		limit = sandbox.DefaultMaxOutput
	}
	j := &job{command: c, manner: m, budget: output.NewBudget(limit)}
	defer func() {
		if err != nil {
			j.close()
		}
	}()
	l, err := b.line(c)
	if err != nil {
		return nil, err
	}
	j.argv = l.argv
	return j, j.open(l.args, b.driver.filter, l.long)
}

// line is how bubblewrap is called for a command.
type line struct {
	argv []string // what it runs
	args []byte   // its own arguments
	long bool     // the command's text goes through a file
}

func (b *box) line(c sandbox.Command) (line, error) {
	dir := c.Dir
	if dir == "" {
		dir = sandbox.RepoDir
	}
	l := line{argv: c.Argv, long: len(c.Shell) > longScript}
	if c.Shell != "" {
		l.argv = []string{"/bin/bash", "-c", c.Shell}
	}
	if l.long {
		l.argv = []string{"/bin/bash", scriptPath}
	}
	forwards := b.forwards()
	l.argv = forwarder(forwards, l.argv)
	var err error
	l.args, err = b.driver.root.args(bwrapArgs{
		dir: dir, env: b.driver.root.environment(c, b.egress != nil),
		forwards: forwards, script: l.long, newer: b.driver.bwrap.newer,
	})
	return l, err
}

// open makes the descriptors in the order that execReq documents.
func (j *job) open(args, filter []byte, long bool) error {
	if err := j.mem("arguments", args); err != nil {
		return err
	}
	if err := j.mem("filter", filter); err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	j.theirs, j.gate = append(j.theirs, r), w
	if err := j.openInput(); err != nil {
		return err
	}
	if err := j.openOutput(); err != nil {
		return err
	}
	if long {
		return j.mem("command", []byte(j.command.Shell))
	}
	return nil
}

func (j *job) mem(name string, content []byte) error {
	f, err := memFile(name, content)
	if err != nil {
		return err
	}
	j.theirs = append(j.theirs, f)
	return nil
}

func (j *job) openInput() error {
	if j.command.Stdin == nil {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return fmt.Errorf("open empty input: %w", err)
		}
		j.theirs = append(j.theirs, null)
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	j.theirs, j.stdin = append(j.theirs, r), w
	return nil
}

// openOutput makes one pipe if both streams go to one writer, which keeps
// their order, and two otherwise.
func (j *job) openOutput() error {
	writers := []io.Writer{j.command.Stdout, j.command.Stderr}
	if output.Same(writers[0], writers[1]) {
		writers = writers[:1]
	}
	for _, to := range writers {
		r, w, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("make pipe: %w", err)
		}
		j.theirs = append(j.theirs, w)
		j.streams = append(j.streams, newStream(r, to, j.budget, j.manner.patience))
	}
	if len(writers) == 1 {
		dup, err := unix.FcntlInt(j.theirs[len(j.theirs)-1].Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("duplicate pipe: %w", err)
		}
		j.theirs = append(j.theirs, os.NewFile(uintptr(dup), "stderr"))
	}
	return nil
}

// handed closes our copies of what the stage has received.
func (j *job) handed() {
	closeAll(j.theirs...)
	j.theirs = nil
}

// close releases everything, started or not.
func (j *job) close() {
	j.handed()
	closeAll(j.gate, j.stdin)
	for _, s := range j.streams {
		s.finish()
	}
}

// feed copies the caller's input. Its goroutine ends with the input or with
// the pipe; like os/exec it cannot interrupt a reader that blocks.
func (j *job) feed(fail context.CancelCauseFunc) {
	if j.stdin == nil {
		return
	}
	pipe := j.stdin
	go func() {
		_, err := io.Copy(pipe, j.command.Stdin)
		if err != nil && j.manner.strictInput && !errors.Is(err, unix.EPIPE) {
			fail(fmt.Errorf("read input: %w", err))
		}
		if err == nil || !j.manner.strictInput {
			_ = pipe.Close() // otherwise close does it, after the kill
		}
	}()
}

// bwrapFailure turns the message of a bubblewrap that could not start the
// command into what a shell would say, or into an error.
func (j *job) bwrapFailure(code int) (sandbox.Result, error) {
	text := j.streams[len(j.streams)-1].last.String()
	i := strings.LastIndex(text, "bwrap: ")
	if i < 0 {
		return sandbox.Result{}, fmt.Errorf("sandbox could not be built (exit %d): %s", code, strings.TrimSpace(text))
	}
	text = strings.TrimSpace(text[i:])
	switch {
	case strings.HasPrefix(text, "bwrap: execvp") && strings.Contains(text, "No such file"):
		return sandbox.Result{ExitCode: 127}, nil
	case strings.HasPrefix(text, "bwrap: execvp"):
		return sandbox.Result{ExitCode: 126}, nil
	case strings.HasPrefix(text, "bwrap: Can't chdir"):
		return sandbox.Result{}, fmt.Errorf("enter %s: %w", j.command.Dir, fs.ErrNotExist)
	}
	return sandbox.Result{}, fmt.Errorf("sandbox could not be built: %s", text)
}

const noLimit = math.MaxInt64
