package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
	"github.com/yudai-dev/yudai/sandbox/output"
)

const (
	// grace is how much later than inside a command's timeout is enforced from here.
	grace = 15 * time.Second
	// killTime bounds the end of a command that is cancelled.
	killTime = 30 * time.Second
	// lostTime is how long a view that breaks again and again is tried for without any progress.
	lostTime = 2 * time.Minute
	// measureEvery is how often the disk is looked at while a command runs.
	measureEvery = 500 * time.Millisecond
)

// running is one Exec on its way.
type running struct {
	handle  *Handle
	request protocol.Request
	feeds   [2]*output.Feed // of stdout and stderr
	budget  *output.Budget
}

// Exec runs one command under a supervisor inside.
func (h *Handle) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	res, err := h.exec(ctx, c)
	if err != nil {
		return res, fmt.Errorf("exec in sandbox %s: %w", h.options.Name, err)
	}
	return res, nil
}

func (h *Handle) exec(caller context.Context, c sandbox.Command) (sandbox.Result, error) {
	if err := c.Check(); err != nil {
		return sandbox.Result{}, err
	}
	ctx, leave, err := h.use(caller)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	if err := context.Cause(ctx); err != nil {
		return sandbox.Result{}, err
	}
	m, err := h.running(ctx, c)
	if err != nil {
		return sandbox.Result{}, err
	}
	ctx, stop := m.watch(ctx)
	defer stop()
	began := time.Now()
	res, err := m.toEnd(ctx)
	if full := h.diskFull(); full != nil && caller.Err() == nil {
		err = full // whatever it looks like: it did not end by itself
	}
	for _, f := range m.feeds {
		f.End()
	}
	if err != nil {
		err = m.cancelled(ctx, caller, err)
	}
	for _, f := range m.feeds {
		f.Wait()
	}
	if err != nil {
		return sandbox.Result{}, err
	}
	h.forgetLater(m.request.ID)
	res.Truncated, res.Duration = m.budget.Truncated(), time.Since(began)
	return res, nil
}

// newID is a command's: a number of 16 digits below 1<<53, since it is also the mark of
// its processes.
func newID() string { return strconv.FormatInt(1<<52+rand.Int64N(1<<52), 10) }

// forgetLater lets the files of an ended command be removed with the next one.
func (h *Handle) forgetLater(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.old = append(h.old, id)
}

// running prepares a command; its input is uploaded.
func (h *Handle) running(ctx context.Context, c sandbox.Command) (*running, error) {
	limit := c.MaxOutput
	if limit == 0 {
		limit = sandbox.DefaultMaxOutput
	}
	m := &running{handle: h, request: h.commandRequest(protocol.VerbExec, c), budget: output.NewBudget(limit)}
	m.request.Keep, m.request.Max, m.request.OOM = kept(c.Stdout, c.Stderr), limit+1, h.options.OOM
	if c.Stdin != nil {
		if err := h.remote.Upload(ctx, protocol.StateDir+"/"+m.request.ID+".in", c.Stdin); err != nil {
			return nil, fmt.Errorf("send input: %w", err)
		}
	}
	h.mu.Lock()
	m.request.Old, h.old = h.old, nil
	h.mu.Unlock()
	m.feeds = [2]*output.Feed{output.New(c.Stdout, m.budget, output.WriteTimeout), output.New(c.Stderr, m.budget, output.WriteTimeout)}
	return m, nil
}

// commandRequest is the part of a request that a command and a launched program share.
func (h *Handle) commandRequest(verb string, c sandbox.Command) protocol.Request {
	r := protocol.Request{
		Verb: verb, Token: h.options.Token, ID: newID(), Shell: c.Shell, Argv: c.Argv, Path: c.Path, Dir: c.Dir,
		TimeoutMS: (c.Timeout + time.Millisecond - 1).Milliseconds(),
		Env:       []string{"HOME=" + sandbox.HomeDir, "TERM=dumb", "LANG=C.UTF-8", "USER=yudai"},
	}
	if r.Dir == "" {
		r.Dir = sandbox.RepoDir
	}
	if h.options.Path != "" {
		r.Env = append(r.Env, "PATH="+h.options.Path)
	}
	for _, env := range []map[string]string{h.options.Env, c.Env} {
		for k, v := range env {
			r.Env = append(r.Env, k+"="+v)
		}
	}
	return r
}

// kept names the streams that somebody reads.
func kept(stdout, stderr io.Writer) string {
	switch {
	case stdout == nil && stderr == nil:
		return "none"
	case stderr == nil:
		return "out"
	case stdout == nil:
		return "err"
	case output.Same(stdout, stderr):
		return "one"
	}
	return "both"
}

// errLate says that a command outlived its timeout, which its supervisor should have enforced.
var errLate = errors.New("the command outlived its timeout")

// watch ends the context when the command lasts longer than its timeout and its
// supervisor did not end it, and when the disk limit is exceeded.
func (m *running) watch(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var late *time.Timer
	if ms := m.request.TimeoutMS; ms > 0 {
		late = time.AfterFunc(time.Duration(ms)*time.Millisecond+grace, func() { cancel(errLate) })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.handle.measure(ctx, cancel)
	}()
	return ctx, func() {
		if late != nil {
			late.Stop()
		}
		cancel(nil)
		<-done
	}
}

// toEnd starts the command and shows its output until its end, through as many
// connections as that takes.
func (m *running) toEnd(ctx context.Context) (sandbox.Result, error) {
	progress, tries := time.Now(), 0
	for {
		p, err := m.handle.process(ctx, call{Request: m.request})
		if err != nil {
			return sandbox.Result{}, err
		}
		a, err := m.handle.callOnce(ctx, p, func(stderr bool, data []byte) {
			m.take(stderr, data)
			progress, tries = time.Now(), 0
		})
		switch {
		case ctx.Err() != nil:
			return sandbox.Result{}, context.Cause(ctx)
		case err == nil:
			return m.result(a)
		case !errors.Is(err, ErrCut):
			return sandbox.Result{}, err
		case time.Since(progress) > lostTime:
			return sandbox.Result{}, fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
		}
		tries++
		if err := clock.Sleep(ctx, min(time.Duration(1<<min(tries, 6))*50*time.Millisecond, 3*time.Second)); err != nil {
			return sandbox.Result{}, err
		}
	}
}

// take passes a piece of output on, and counts what need not be shown again.
func (m *running) take(stderr bool, data []byte) {
	if stderr {
		m.request.SeenErr += int64(len(data))
		_, _ = m.feeds[1].Write(data)
		return
	}
	m.request.SeenOut += int64(len(data))
	_, _ = m.feeds[0].Write(data)
}

// result is how the command ended.
func (m *running) result(a protocol.Answer) (sandbox.Result, error) {
	if a.Result == protocol.DiskFull {
		err := fmt.Errorf("the disk of sandbox %s is full: %w", m.handle.options.Name, sandbox.ErrDisk)
		m.handle.exceeded(err)
		return sandbox.Result{}, err
	}
	if err := refused(a, nil); err != nil {
		return sandbox.Result{}, err
	}
	return sandbox.Result{ExitCode: a.Code, TimedOut: a.TimedOut, OOM: a.OOM}, nil
}

// cancelled ends what may still run, unless the whole sandbox ends, and tells
// why the command was not seen to its end.
func (m *running) cancelled(ctx, caller context.Context, err error) error {
	h := m.handle
	if (ctx.Err() == nil && !errors.Is(err, errLost)) || h.life.Err() != nil || errors.Is(err, sandbox.ErrDisk) {
		return err
	}
	killing, cancel := context.WithTimeout(context.WithoutCancel(caller), killTime)
	defer cancel()
	c := h.request(protocol.VerbKill)
	c.ID, c.root = m.request.ID, true
	if failed := unlessGone(refused(h.call(killing, c))); failed != nil {
		err = fmt.Errorf("%w (and the command was not seen to end: %w)", err, failed)
	}
	h.forgetLater(m.request.ID)
	return err
}
