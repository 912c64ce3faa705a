package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
)

// Launch starts a program that the stage keeps when we are gone.
func (b *box) Launch(ctx context.Context, c sandbox.Command) error {
	failpoint.Hit("sandbox", "launch", "before")
	defer failpoint.Hit("sandbox", "launch", "after")
	if err := b.launch(ctx, c); err != nil {
		return fmt.Errorf("launch in sandbox %s: %w", b.record.Name, b.lost(err))
	}
	return nil
}

// launch has three steps, so that a crash between two of them leaves either nothing or
// a program with its limits: the stage prepares it, we put it into the control group,
// the stage lets it run. A program that was prepared ends with our connection.
func (b *box) launch(ctx context.Context, c sandbox.Command) error {
	if err := c.Check(); err != nil {
		return err
	}
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	switch {
	case !b.record.launches():
		return errors.New("it was not opened to launch a program (Spec.Launch)")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	h, err := b.stage(ctx)
	if err != nil {
		return err
	}
	replies, err := b.prepareLaunch(h, c)
	if err != nil {
		return err
	}
	first, err := b.await(h, replies)
	switch {
	case err != nil:
		return err
	case first.Kind != kindStarted:
		return launchFailure(first)
	}
	failpoint.Hit("sandbox", "launch", "prepared")
	if err = b.release(ctx, h, first); err == nil {
		err = b.awaitProgram(ctx, h, replies, first.Child)
	}
	if err == nil || !h.alive() {
		return err
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), killPatience)
	defer cancel()
	_, e := h.ask(undo, request{Op: opHalt}, nil)
	return errors.Join(err, e)
}

// prepareLaunch asks the stage to prepare the program.
func (b *box) prepareLaunch(h *helper, c sandbox.Command) (<-chan reply, error) {
	l, err := b.line(c)
	if err != nil {
		return nil, err
	}
	j := &job{}
	defer j.handed()
	if err := errors.Join(j.mem("arguments", l.args), j.mem("filter", b.driver.filter)); err != nil {
		return nil, err
	}
	if l.long {
		if err := j.mem("command", []byte(c.Shell)); err != nil {
			return nil, err
		}
	}
	return h.call(request{Op: opLaunch, Launch: &launchReq{
		Argv: l.argv, Rlimits: b.driver.rlimits(b.record.Limits), Timeout: c.Timeout, Disk: b.diskLimits(),
	}}, j.theirs)
}

// release limits what was prepared and lets it run.
func (b *box) release(ctx context.Context, h *helper, first reply) error {
	if first.Err != "" {
		return errors.New(first.Err)
	}
	if b.group != nil {
		if err := b.group.add(first.Child); err != nil {
			return err
		}
	}
	_, err := h.ask(ctx, request{Op: opRelease}, nil)
	return err
}

// awaitProgram returns when bubblewrap has started the program itself, or could not.
func (b *box) awaitProgram(ctx context.Context, h *helper, replies <-chan reply, child int) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(startPatience)
	defer late.Stop()
	for {
		select {
		case r := <-replies:
			if r.Ran && r.Err == "" {
				return nil
			}
			return launchFailure(r)
		case <-h.dead:
			return h.gone()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return errors.New("the program did not start in time")
		case <-tick.C:
			if executing(child, b.kept()) {
				return nil
			}
		}
	}
}

// executing reports whether the first process inside has a child that is no longer
// bubblewrap. A kernel that does not list children is believed.
func executing(first int, marker string) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", first))
	if err != nil {
		_, e := os.Stat(fmt.Sprintf("/proc/%d/stat", first))
		return e == nil
	}
	for _, text := range strings.Fields(string(data)) {
		line, err := os.ReadFile("/proc/" + text + "/cmdline")
		pid, e := strconv.Atoi(text)
		if err == nil && e == nil && len(line) > 0 && !carries(pid, marker) {
			return true
		}
	}
	return false
}

// launchFailure says why a program did not start.
func launchFailure(r reply) error {
	switch {
	case r.Err != "":
		return errors.New(r.Err)
	case r.Text != "":
		return fmt.Errorf("the program could not be started: %s", r.Text)
	}
	return fmt.Errorf("the program could not be started (exit %d)", r.Code)
}

// Launched asks the stage.
func (b *box) Launched(ctx context.Context) (bool, error) {
	r, err := b.askProgram(ctx, opLaunched)
	if err == nil && r.Text != "" {
		err = b.exceed(r.Text)
	}
	if err != nil {
		return false, fmt.Errorf("look at what sandbox %s launched: %w", b.record.Name, err)
	}
	return r.is(), nil
}

// Halt lets the stage kill the program, and returns when nothing of it runs.
func (b *box) Halt(ctx context.Context) error {
	failpoint.Hit("sandbox", "halt", "before")
	defer failpoint.Hit("sandbox", "halt", "after")
	if _, err := b.askProgram(ctx, opHalt); err != nil {
		return fmt.Errorf("halt what sandbox %s launched: %w", b.record.Name, err)
	}
	return nil
}

// askProgram asks the stage about the program. Without Spec.Launch there is none.
func (b *box) askProgram(ctx context.Context, o op) (reply, error) {
	ctx, leave, err := b.register(ctx)
	if err != nil {
		return reply{}, err
	}
	defer leave()
	if !b.record.launches() {
		return reply{}, nil
	}
	h, err := b.stage(ctx)
	if err != nil {
		return reply{}, err
	}
	r, err := h.ask(ctx, request{Op: o}, nil)
	return r, b.lost(err)
}

// lost says of an error of a stage that left us whether another owner has it now.
func (b *box) lost(err error) error {
	if errors.Is(err, errStage) {
		if e := b.owned(); e != nil {
			return e
		}
	}
	return err
}
