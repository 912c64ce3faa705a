package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox"
)

// errTimeout is the cause of an end by Command.Timeout.
var errTimeout = errors.New("command timed out")

// follow starts a job and stays with it until nothing of it runs.
func (b *box) follow(parent context.Context, h *helper, j *job) (sandbox.Result, error) {
	ctx, fail := context.WithCancelCause(parent)
	defer fail(nil)
	ooms := b.ooms()
	replies, err := h.call(request{Op: opExec, Exec: &execReq{Argv: j.argv, Rlimits: b.driver.rlimits(b.record.Limits)}}, j.theirs)
	j.handed()
	if err != nil {
		return sandbox.Result{}, err
	}
	first, err := b.await(h, replies)
	if err != nil {
		return sandbox.Result{}, err
	}
	if first.Kind != kindStarted {
		return b.neverStarted(j, first)
	}
	pidfd, err := unix.PidfdOpen(first.Child, 0)
	if err != nil {
		return sandbox.Result{}, b.abandon(h, fmt.Errorf("watch command: %w", err))
	}
	defer func() { _ = unix.Close(pidfd) }()
	if first.Err != "" {
		fail(errors.New(first.Err))
	}
	if b.group != nil && ctx.Err() == nil {
		if err := b.group.add(first.Child); err != nil {
			fail(err)
		}
	}
	begin := time.Now()
	disk := b.watchDisk(ctx, h, fail)
	if t := j.command.Timeout; t > 0 {
		timer := time.AfterFunc(t, func() { fail(errTimeout) })
		defer timer.Stop()
	}
	if ctx.Err() == nil {
		_, _ = j.gate.Write([]byte{1})
		j.feed(fail)
	}
	last, err := b.finish(ctx, h, replies, pidfd)
	took := time.Since(begin)
	cause := context.Cause(ctx)
	fail(nil)
	j.settle()
	if e := disk.end(h, took, last.Code); e != nil && (cause == nil || errors.Is(cause, sandbox.ErrDisk)) {
		cause = e
	}
	if err != nil && cause == nil {
		return sandbox.Result{}, err
	}
	return b.result(j, last, cause, took, b.ooms() > ooms)
}

// await waits for the next reply of the stage.
func (b *box) await(h *helper, replies <-chan reply) (reply, error) {
	late := time.NewTimer(startPatience)
	defer late.Stop()
	select {
	case r := <-replies:
		return r, nil
	case <-h.dead:
	case <-late.C:
		return reply{}, b.abandon(h, errors.New("sandbox did not start in time"))
	}
	select {
	case r := <-replies: // it may have spoken before it died
		return r, nil
	default:
		return reply{}, b.abandon(h, h.gone())
	}
}

// abandon ends the helper and everything it started, after something that
// should not happen.
func (b *box) abandon(h *helper, err error) error {
	h.close()
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	return errors.Join(err, killMarked(ctx, b.marker(), ""))
}

// finish waits for the end of the command, or brings it about when the context
// ends, and returns when the last process of its namespace is gone.
func (b *box) finish(ctx context.Context, h *helper, replies <-chan reply, pidfd int) (reply, error) {
	var last reply
	var err error
	select {
	case last = <-replies:
	case <-h.dead:
		last, err = b.await(h, replies)
	case <-ctx.Done():
		if err := signalPidfd(pidfd); err != nil {
			return last, b.abandon(h, err)
		}
		last, err = b.await(h, replies)
	}
	// bubblewrap reports the command's end before the namespace is empty.
	if e := signalPidfd(pidfd); e != nil {
		err = errors.Join(err, e)
	}
	return last, errors.Join(err, waitPidfd(context.Background(), pidfd))
}

// result says how a command ended.
func (b *box) result(j *job, last reply, cause error, took time.Duration, oom bool) (sandbox.Result, error) {
	res := sandbox.Result{ExitCode: last.Code, OOM: oom, Truncated: j.budget.Truncated(), Duration: took}
	switch {
	case errors.Is(cause, errTimeout):
		res.ExitCode, res.TimedOut = -1, true
		return res, nil
	case cause != nil:
		res.ExitCode = -1
		return res, cause
	case last.Err != "":
		return sandbox.Result{}, errors.New(last.Err)
	case !last.Ran && !oom:
		failed, err := j.bwrapFailure(last.Code)
		failed.Duration, failed.Truncated = took, res.Truncated
		return failed, err
	}
	return res, nil
}

// neverStarted explains a bubblewrap that ended before there was a process inside.
func (b *box) neverStarted(j *job, r reply) (sandbox.Result, error) {
	if r.Err != "" {
		return sandbox.Result{}, errors.New(r.Err)
	}
	j.settle()
	return j.bwrapFailure(r.Code)
}

// settle waits for the output.
func (j *job) settle() {
	for _, s := range j.streams {
		s.finish()
	}
}

func (b *box) ooms() int64 {
	if b.group == nil {
		return 0
	}
	return b.group.ooms()
}
