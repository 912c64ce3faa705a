package guest

import (
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// What was launched is known inside, by its supervisor and by the kernel's mark on its
// processes. Nothing is remembered here, so the next owner knows as much as this one.

// Launch starts a program that outlives its owner. After an error it does not run, or
// is not known to: then Halt ends it.
func (h *Handle) Launch(ctx context.Context, c sandbox.Command) error {
	if err := h.launch(ctx, c); err != nil {
		return fmt.Errorf("launch in sandbox %s: %w", h.options.Name, err)
	}
	return nil
}

func (h *Handle) launch(caller context.Context, c sandbox.Command) error {
	if err := c.Check(); err != nil {
		return err
	}
	ctx, leave, err := h.mayLaunch(caller, h.use)
	if err != nil {
		return err
	}
	defer leave()
	h.launching.Lock()
	defer h.launching.Unlock()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	r := call{Request: h.commandRequest(protocol.VerbLaunch, c)}
	h.guardDisk()
	a, err := h.call(ctx, r)
	if err == nil && a.Result == protocol.Busy {
		return errors.New("what was launched before still runs")
	}
	if err = refused(a, err); err == nil {
		h.forgetLater(r.ID) // the file of a long request
		return nil
	}
	if errors.Is(err, sandbox.ErrGone) || h.life.Err() != nil {
		return err
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(caller), killTime)
	defer cancel()
	if failed := unlessGone(h.halt(stopping, r.ID)); failed != nil {
		err = fmt.Errorf("%w (and it was not seen to end: %w)", err, failed)
	}
	return err
}

// Launched reports whether anything that Launch started still runs.
func (h *Handle) Launched(ctx context.Context) (bool, error) {
	ctx, leave, err := h.mayLaunch(ctx, h.use)
	if err != nil {
		return false, fmt.Errorf("look for what was launched in sandbox %s: %w", h.options.Name, err)
	}
	defer leave()
	c := h.request(protocol.VerbLaunched)
	c.root = true
	a, err := h.call(ctx, c)
	if full := h.diskFull(); full != nil {
		err = full
	}
	if err == nil && a.Result == protocol.Busy {
		h.guardDisk() // another owner may have started it
		return true, nil
	}
	if err = refused(a, err); err != nil {
		return false, fmt.Errorf("look for what was launched in sandbox %s: %w", h.options.Name, err)
	}
	return false, nil
}

// Halt kills what was launched and returns when it is gone.
func (h *Handle) Halt(ctx context.Context) error {
	ctx, leave, err := h.mayLaunch(ctx, h.register)
	if err == nil {
		defer leave()
		h.launching.Lock()
		defer h.launching.Unlock()
		err = h.halt(ctx, "")
	}
	if err != nil {
		return fmt.Errorf("halt what was launched in sandbox %s: %w", h.options.Name, err)
	}
	return nil
}

// Still ends what was launched, if anything can be: a driver calls it before it makes a
// base of the sandbox.
func (h *Handle) Still(ctx context.Context) error {
	if !h.options.Launch {
		return nil
	}
	return h.Halt(ctx)
}

// mayLaunch registers a call, where the sandbox was opened for such calls.
func (h *Handle) mayLaunch(
	ctx context.Context, register func(context.Context) (context.Context, func(), error),
) (context.Context, func(), error) {
	if !h.options.Launch {
		return nil, nil, errors.New("it was not opened to launch programs (Spec.Launch)")
	}
	return register(ctx)
}

// halt ends what was launched; with an id only if it was launched with that one.
func (h *Handle) halt(ctx context.Context, id string) error {
	c := h.request(protocol.VerbHalt)
	c.ID, c.root = id, true
	return refused(h.call(ctx, c))
}

// guardDisk measures the disk until the sandbox ends, from the first program on that
// may write while no command runs.
func (h *Handle) guardDisk() {
	h.measured.Do(func() {
		if h.options.Disk == nil {
			return
		}
		h.busy.Add(1)
		go func() {
			defer h.busy.Done()
			h.measure(h.life, func(error) {}) // what it exceeds it ends
		}()
	})
}

var _ sandbox.Launcher = (*Handle)(nil)
