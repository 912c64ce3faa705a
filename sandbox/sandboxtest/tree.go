package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

func treePromises() []Promise {
	return []Promise{
		{Name: "timeout kills the process tree", Commands: true, Check: timeoutKills},
		{Name: "cancel kills the process tree", Commands: true, Check: cancelKills},
		{Name: "cancelled before the start", Check: cancelledBefore},
		{Name: "background ends with its command", Commands: true, Needs: func(t sandbox.Traits) bool { return t.BackgroundDies }, Check: backgroundDies},
		{Name: "a writer that blocks does not hang", Commands: true, Check: stuckWriter},
		{Name: "close ends commands", Commands: true, Check: closeEnds},
	}
}

// stubborn is a command whose processes ignore what can be ignored, leave their
// session, and beat into a file as long as they live.
const stubborn = `trap '' TERM INT HUP
setsid bash -c 'trap "" TERM INT HUP; while :; do echo x >>/tmp/beat; sleep 0.02; done' >/dev/null 2>&1 &
while :; do sleep 0.05; done`

// awaitBeat says "up" as soon as the heart beats.
const awaitBeat = "(until [ -s /tmp/beat ]; do sleep 0.02; done; echo up) & "

// errNever says that there was nothing to observe.
var errNever = errors.New("the heart never beat")

// still returns an error if the heart in /tmp/beat beats.
func still(ctx context.Context, sb sandbox.Sandbox) error {
	out, err := shell(ctx, sb, "a=$(wc -l </tmp/beat || echo 0); sleep 0.3; b=$(wc -l </tmp/beat || echo 0); [ $a != 0 ] || echo never; [ $a = $b ] || echo beating")
	if err != nil {
		return err
	}
	if strings.HasSuffix(out, "never") {
		return errNever
	}
	if out != "" {
		return fmt.Errorf("processes of an ended command: %s", out)
	}
	return nil
}

func timeoutKills(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		// On a busy machine the heart may need longer to start than a short timeout.
		var err error
		for _, timeout := range []time.Duration{time.Second, 3 * time.Second, 9 * time.Second} {
			begin := time.Now()
			res, e := sb.Exec(ctx, sandbox.Command{Shell: stubborn, Timeout: timeout})
			if e != nil {
				return e
			}
			if took := time.Since(begin); !res.TimedOut || res.ExitCode != -1 || took > timeout+20*time.Second {
				return fmt.Errorf("took %v, result %+v, want timed out after %v", took, res, timeout)
			}
			if err = still(ctx, sb); !errors.Is(err, errNever) {
				return err
			}
		}
		return err
	})
}

func cancelKills(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		c, cancel := context.WithCancel(ctx)
		out := &signal{seen: make(chan struct{})}
		go func() {
			select {
			case <-out.seen:
			case <-ctx.Done():
			}
			cancel()
		}()
		_, err := sb.Exec(c, sandbox.Command{Shell: awaitBeat + stubborn, Stdout: out})
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("error %v, want context.Canceled", err)
		}
		return still(ctx, sb)
	})
}

// signal closes a channel at the first write.
type signal struct {
	seen chan struct{}
	done bool
}

func (s *signal) Write(p []byte) (int, error) {
	if !s.done {
		s.done = true
		close(s.seen)
	}
	return len(p), nil
}

func cancelledBefore(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		c, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := sb.Exec(c, sandbox.Command{Shell: "true"}); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("error %v, want context.Canceled", err)
		}
		return nil
	})
}

func backgroundDies(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		_, err := shell(ctx, sb, `setsid bash -c 'while :; do echo x >>/tmp/beat; sleep 0.02; done' & for i in $(seq 200); do [ -s /tmp/beat ] && exit 0; sleep 0.02; done; exit 1`)
		if err != nil {
			return err
		}
		return still(ctx, sb)
	})
}

// blocked is a writer that never returns before its context ends.
type blocked struct{ ctx context.Context }

func (b blocked) Write([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, io.ErrClosedPipe
}

func stuckWriter(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		begin := time.Now()
		release, cancel := context.WithCancel(ctx)
		defer cancel()
		res, err := sb.Exec(ctx, sandbox.Command{Shell: "head -c 5000000 /dev/zero; exit 5", Stdout: blocked{release}})
		if err != nil {
			return err
		}
		if took := time.Since(begin); took > 30*time.Second || res.ExitCode != 5 {
			return fmt.Errorf("took %v, result %+v", took, res)
		}
		return nil
	})
}

func closeEnds(ctx context.Context, h *Harness) error {
	sb, err := h.Driver.Open(ctx, sandbox.Spec{Name: h.name("p")})
	if err != nil {
		return err
	}
	out := &signal{seen: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := sb.Exec(ctx, sandbox.Command{Shell: "echo up; sleep 300", Stdout: out})
		ended <- err
	}()
	select {
	case <-out.seen:
	case err := <-ended:
		return fmt.Errorf("ended early: %w", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := sb.Close(cancelled); err != nil {
		return fmt.Errorf("close with a cancelled context: %w", err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, sandbox.ErrGone) {
			return fmt.Errorf("the command ended with %v, want ErrGone", err)
		}
	case <-time.After(20 * time.Second):
		return errors.New("the command still runs after Close")
	}
	if _, err := sb.Exec(ctx, sandbox.Command{Shell: "true"}); !errors.Is(err, sandbox.ErrGone) {
		return fmt.Errorf("exec after close: %v, want ErrGone", err)
	}
	return nil
}
