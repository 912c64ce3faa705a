package prime

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// errSlow says that a budget of waiting is used up.
var errSlow = errors.New("not ready in time")

// awaitRunning waits until a sandbox runs. The build of its image, which the
// service does when it sees it for the first time, has a budget of its own.
func (p *provider) awaitRunning(ctx context.Context, name, id string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	budget := time.AfterFunc(p.config.StartTime, func() { cancel(errSlow) })
	defer budget.Stop()
	building, last := false, status("")
	err := p.poller.wait(ctx, id, func(n condition) (done bool, err error) {
		switch {
		case cloud.IsMissing(n.err):
			return true, fmt.Errorf("%w: Prime does not know it any more while it starts", sandbox.ErrUnavailable)
		case n.err != nil:
			return true, p.Explain(n.err)
		case n.Status.ended():
			return true, p.startFailed(n)
		}
		last = n.Status
		slow := n.Status == statusPending && n.BuildID != ""
		if slow && !building {
			p.log.Info().Str(logkey.SandboxID, name).Msg("the image is being built at Prime, which takes about ten minutes the first time")
			budget.Reset(p.config.BuildTime)
		} else if building && !slow {
			budget.Reset(p.config.StartTime)
		}
		building = slow
		return n.Status == statusRunning, nil
	})
	if !errors.Is(err, errSlow) {
		return err
	}
	c := p.config
	switch {
	case building:
		return fmt.Errorf("%w: Prime has not built the image %s within %s (%sbuild_time)", sandbox.ErrUnavailable, c.Image, c.BuildTime, section)
	case last == statusPending:
		return fmt.Errorf("%w: Prime has not placed the sandbox within %s (%sstart_time)", sandbox.ErrCapacity, c.StartTime, section)
	}
	return fmt.Errorf("%w: the sandbox does not run after %s (%sstart_time), its status is %q",
		sandbox.ErrUnavailable, c.StartTime, section, cloud.Plain(string(last)))
}

// startFailed says why a sandbox ended before it ran.
func (p *provider) startFailed(n condition) error {
	switch n.ErrorType {
	case "IMAGE_PULL_FAILED":
		return fmt.Errorf("%w: Prime cannot get %simage %q: it must be public, or built at Prime (%s)",
			sandbox.ErrSetting, section, p.config.Image, n)
	case "OOM_KILLED":
		return fmt.Errorf("%w: the memory of the sandbox is too small to start it: set %slimits.memory_gb (%s)", sandbox.ErrLimit, section, n)
	}
	return fmt.Errorf("%w: the sandbox ended while it started (%s)", sandbox.ErrUnavailable, n)
}

// reach proves that commands can run, and learns as whom: the gateway may hear of
// a sandbox later than its status tells.
func (p *provider) reach(ctx context.Context, m *machine) error {
	within, cancel := context.WithTimeoutCause(ctx, p.config.StartTime, errSlow)
	defer cancel()
	var last error
	err := poll(within, p.timing.poll/4, p.timing.pollMost, func() (bool, error) {
		said, code, expired, err := m.echo(within, p.timing.echo)
		last = err
		switch {
		case within.Err() != nil:
			return false, context.Cause(within)
		case err == nil && code != 0:
			return false, fmt.Errorf("%w: %simage %q cannot run bash: a first command ended with exit %d",
				sandbox.ErrSetting, section, p.config.Image, code)
		case err == nil:
			m.user = userIn(said)
			return true, nil
		case noProgram(err):
			return false, fmt.Errorf("%w: %simage %q has no /bin/bash: %w", sandbox.ErrSetting, section, p.config.Image, err)
		}
		if _, ended := p.hasEnded(ctx, m.id); ended || !expired && !passes(err) {
			return false, m.Explain(ctx, err)
		}
		return false, nil
	})
	if errors.Is(err, errSlow) {
		return fmt.Errorf("%w: the sandbox runs and the gateway does not reach it within %s (%sstart_time): %w",
			sandbox.ErrUnavailable, p.config.StartTime, section, last)
	}
	return err
}

// poll asks again and again, after pauses from first to most, until done.
func poll(ctx context.Context, first, most time.Duration, ask func() (done bool, err error)) error {
	for wait := first; ; wait = min(wait*3/2, most) {
		if done, err := ask(); done || err != nil {
			return err
		}
		if err := clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// userIn reads whom commands run as: "" is root, or nobody with a name.
func userIn(said string) string {
	m := regexp.MustCompile(`^[1-9][0-9]*:([a-z_][a-z0-9_-]{0,31})\n$`).FindStringSubmatch(said)
	if m == nil {
		return ""
	}
	return m[1]
}
