package inside

import (
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/sandbox"
)

// A launched program and all that comes from it are known by a brand that the kernel
// keeps, see common.sh; nothing about them is remembered here, so that the next owner
// knows as much as this one.

// Launch starts a program that outlives its owner. After an error it does not run, or
// is not known to: then Halt ends it.
func (b *Box) Launch(ctx context.Context, c sandbox.Command) error {
	if err := b.launch(ctx, c); err != nil {
		return fmt.Errorf("launch in sandbox %s: %w", b.options.Name, err)
	}
	return nil
}

func (b *Box) launch(caller context.Context, c sandbox.Command) error {
	if err := c.Check(); err != nil {
		return err
	}
	ctx, leave, err := b.mayLaunch(caller)
	if err != nil {
		return err
	}
	defer leave()
	b.launching.Lock()
	defer b.launching.Unlock()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	prefix := dir + "/launched/" + newID()
	text, err := b.send(ctx, c, prefix)
	if err != nil {
		return fmt.Errorf("send command: %w", err)
	}
	b.guard()
	_, code, err := b.run(ctx, bash(commonScript+startScript, prefix, b.options.Token, seconds(c.Timeout), text))
	switch {
	case err == nil && code == 0:
		return nil
	case err == nil && code == codeRuns:
		return errors.New("what was launched before still runs")
	case err == nil:
		err = ended(code)
	}
	if errors.Is(err, sandbox.ErrGone) || b.life.Err() != nil {
		return err
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(caller), killTime)
	defer cancel()
	if failed := b.stop(stopping, prefix); failed != nil && !errors.Is(failed, sandbox.ErrGone) {
		err = fmt.Errorf("%w (and it was not seen to end: %w)", err, failed)
	}
	return err
}

// Launched reports whether anything that Launch started still runs.
func (b *Box) Launched(ctx context.Context) (bool, error) {
	ctx, leave, err := b.mayLaunch(ctx)
	if err != nil {
		return false, fmt.Errorf("look for what was launched in sandbox %s: %w", b.options.Name, err)
	}
	defer leave()
	p := bash(commonScript+runningScript, dir, b.options.Token)
	p.Root = true
	_, code, err := b.run(ctx, p)
	if full := b.overflowed(); full != nil {
		err = full
	}
	switch {
	case err == nil && code == 0:
		return false, nil
	case err == nil && code == codeRuns:
		b.guard() // another owner may have started it
		return true, nil
	case err == nil:
		err = ended(code)
	}
	return false, fmt.Errorf("look for what was launched in sandbox %s: %w", b.options.Name, err)
}

// Halt kills what was launched and returns when it is gone.
func (b *Box) Halt(ctx context.Context) error {
	ctx, leave, err := b.mayLaunch(ctx)
	if err == nil {
		defer leave()
		b.launching.Lock()
		defer b.launching.Unlock()
		err = b.stop(ctx, "")
	}
	if err != nil {
		return fmt.Errorf("halt what was launched in sandbox %s: %w", b.options.Name, err)
	}
	return nil
}

// Still ends what was launched, if anything can be: a driver calls it before it makes a
// base of the sandbox.
func (b *Box) Still(ctx context.Context) error {
	if !b.options.Launch {
		return nil
	}
	return b.Halt(ctx)
}

// mayLaunch registers a call, where the sandbox was opened for such calls.
func (b *Box) mayLaunch(ctx context.Context) (context.Context, func(), error) {
	if !b.options.Launch {
		return nil, nil, errors.New("it was not opened to launch programs (Spec.Launch)")
	}
	return b.enter(ctx)
}

// stop ends what was launched; with a prefix only if it was launched with that one.
func (b *Box) stop(ctx context.Context, prefix string) error {
	p := bash(commonScript+haltScript, dir, b.options.Token, prefix)
	p.Root = true
	_, code, err := b.run(ctx, p)
	if err == nil && code != 0 {
		err = ended(code)
	}
	return err
}

// ended is the error that a script's exit code stands for.
func ended(code int) error {
	switch code {
	case codeOwner:
		return fmt.Errorf("it has another owner: %w", sandbox.ErrGone)
	case codeFull:
		return fmt.Errorf("its disk is full: %w", sandbox.ErrDisk)
	case codeLost:
		return fmt.Errorf("it did not start: %w", sandbox.ErrUnavailable)
	}
	return fmt.Errorf("exit %d", code)
}

// guard measures the disk until the sandbox ends, from the first program on that may
// write while no command runs.
func (b *Box) guard() {
	b.measured.Do(func() {
		if b.options.Disk == nil {
			return
		}
		b.busy.Add(1)
		go func() {
			defer b.busy.Done()
			b.measure(b.life, b.end)
		}()
	})
}

var _ sandbox.Launcher = (*Box)(nil)
