package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

func launchOutlives(ctx context.Context, h *Harness) error {
	return h.launching(ctx, sandbox.Spec{}, func(sb sandbox.Sandbox, l sandbox.Launcher) error {
		begin := time.Now()
		if err := l.Launch(ctx, sandbox.Command{Shell: hearts}); err != nil {
			return err
		}
		if took := time.Since(begin); took > 60*time.Second {
			return fmt.Errorf("launch took %v", took)
		}
		if err := growing(ctx, sb); err != nil {
			return err
		}
		for _, c := range []sandbox.Command{
			{Shell: "setsid sleep 60 & exit 0"},
			{Shell: "setsid sleep 60 & sleep 60", Timeout: 300 * time.Millisecond},
			{Shell: "kill -9 $$"},
		} {
			if _, err := sb.Exec(ctx, c); err != nil {
				return err
			}
		}
		cancelled, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		if _, err := sb.Exec(cancelled, sandbox.Command{Shell: "sleep 60"}); err == nil {
			return errors.New("a cancelled command is no error")
		}
		if err := runs(ctx, l, true); err != nil {
			return err
		}
		return growing(ctx, sb)
	})
}

func launchTimeout(ctx context.Context, h *Harness) error {
	return h.launching(ctx, sandbox.Spec{}, func(sb sandbox.Sandbox, l sandbox.Launcher) error {
		// On a busy machine the hearts may need longer to start than a short timeout.
		var err error
		for _, timeout := range []time.Duration{time.Second, 3 * time.Second, 9 * time.Second} {
			if err := l.Launch(ctx, sandbox.Command{Shell: hearts, Timeout: timeout}); err != nil {
				return err
			}
			if done, err := ended(ctx, l, timeout+toEnd); err != nil || !done {
				return fmt.Errorf("still running long after its timeout of %v: %v", timeout, err)
			}
			if err = silent(ctx, sb); !errors.Is(err, errNever) {
				return err
			}
		}
		return err
	})
}

func launchEnds(ctx context.Context, h *Harness) error {
	return h.launching(ctx, sandbox.Spec{}, func(sb sandbox.Sandbox, l sandbox.Launcher) error {
		if err := l.Launch(ctx, sandbox.Command{Shell: "until [ -e /tmp/go ]; do sleep 0.02; done; echo bye >/tmp/done"}); err != nil {
			return err
		}
		if err := runs(ctx, l, true); err != nil {
			return err
		}
		if err := put(ctx, sb, "/tmp/go", ""); err != nil {
			return err
		}
		if err := errors.Join(finished(ctx, l), expect(ctx, sb, "cat /tmp/done", "bye")); err != nil {
			return err
		}
		if err := missing(ctx, l); err != nil {
			return err
		}
		return leftChild(ctx, sb, l)
	})
}

// missing launches a program that does not exist: an error, or a program that has ended.
func missing(ctx context.Context, l sandbox.Launcher) error {
	if err := l.Launch(ctx, sandbox.Command{Argv: []string{"no-such-program"}}); err != nil {
		return runs(ctx, l, false)
	}
	return finished(ctx, l)
}

// leftChild launches a program that leaves a child behind: either that counts as running, or
// it has ended with the program.
func leftChild(ctx context.Context, sb sandbox.Sandbox, l sandbox.Launcher) error {
	text := `setsid bash -c 'while :; do echo x >>/tmp/beat; sleep 0.02; done' & until [ -s /tmp/beat ]; do sleep 0.02; done`
	if err := l.Launch(ctx, sandbox.Command{Shell: text}); err != nil {
		return err
	}
	if _, err := shell(ctx, sb, "for i in $(seq 500); do [ -s /tmp/beat ] && exit 0; sleep 0.02; done; exit 1"); err != nil {
		return err
	}
	done, err := ended(ctx, l, time.Second)
	if err == nil && !done {
		err = l.Halt(ctx)
	}
	return errors.Join(err, silent(ctx, sb), runs(ctx, l, false))
}

func haltKills(ctx context.Context, h *Harness) error {
	return h.launching(ctx, sandbox.Spec{}, func(sb sandbox.Sandbox, l sandbox.Launcher) error {
		for range 2 {
			if err := l.Launch(ctx, sandbox.Command{Shell: hearts}); err != nil {
				return err
			}
			if err := growing(ctx, sb); err != nil {
				return err
			}
			if err := l.Halt(ctx); err != nil {
				return err
			}
			if err := errors.Join(silent(ctx, sb), runs(ctx, l, false), l.Halt(ctx)); err != nil {
				return err
			}
		}
		return nil
	})
}

func closeEndsLaunched(ctx context.Context, h *Harness) error {
	spec := sandbox.Spec{Name: h.name("p"), Launch: true}
	return h.launching(ctx, spec, func(sb sandbox.Sandbox, l sandbox.Launcher) error {
		if err := l.Launch(ctx, sandbox.Command{Shell: "sleep 60"}); err != nil {
			return err
		}
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if err := sb.Close(cancelled); err != nil {
			return fmt.Errorf("close with a cancelled context: %w", err)
		}
		if _, err := l.Launched(ctx); !errors.Is(err, sandbox.ErrGone) {
			return fmt.Errorf("launched after close: %v, want ErrGone", err)
		}
		if err := l.Launch(ctx, sandbox.Command{Shell: "sleep 60"}); !errors.Is(err, sandbox.ErrGone) {
			return fmt.Errorf("launch after close: %v, want ErrGone", err)
		}
		if _, err := h.Driver.Attach(ctx, spec.Name); !errors.Is(err, sandbox.ErrGone) {
			return fmt.Errorf("attach after close: %v, want ErrGone", err)
		}
		return nil
	})
}

func attachLaunched(ctx context.Context, h *Harness) error {
	return h.launching(ctx, sandbox.Spec{}, func(sb sandbox.Sandbox, old sandbox.Launcher) error {
		if err := old.Launch(ctx, sandbox.Command{Shell: hearts}); err != nil {
			return err
		}
		if err := growing(ctx, sb); err != nil {
			return err
		}
		out := &signal{seen: make(chan struct{})}
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = sb.Exec(ctx, sandbox.Command{Shell: strings.ReplaceAll(awaitBeat+stubborn, "/tmp/beat", "/tmp/other"), Stdout: out})
		}()
		select {
		case <-out.seen:
		case <-over:
			return errors.New("the command of the old owner ended early")
		}
		again, err := h.Driver.Attach(ctx, sb.Name())
		if err != nil {
			return err
		}
		defer func() { _ = again.Close(ctx) }()
		l, err := launcher(again)
		if err != nil {
			return err
		}
		return taken(ctx, again, l, old)
	})
}

// taken checks a sandbox with a launched program that was taken over from an old owner.
func taken(ctx context.Context, sb sandbox.Sandbox, l, old sandbox.Launcher) error {
	if err := runs(ctx, l, true); err != nil {
		return fmt.Errorf("after attach: %w", err)
	}
	if err := growing(ctx, sb); err != nil {
		return fmt.Errorf("after attach: %w", err)
	}
	if err := expect(ctx, sb, "a=$(wc -l </tmp/other); sleep 0.3; [ $a = $(wc -l </tmp/other) ] || echo beating", ""); err != nil {
		return fmt.Errorf("a command of the old owner: %w", err)
	}
	if l.Launch(ctx, sandbox.Command{Shell: "sleep 60"}) == nil {
		return errors.New("a second program was launched after attach")
	}
	if old.Halt(ctx) == nil {
		return errors.New("the old owner could halt what is another's now")
	}
	if err := growing(ctx, sb); err != nil {
		return fmt.Errorf("after the old owner's halt: %w", err)
	}
	if err := l.Halt(ctx); err != nil {
		return err
	}
	if err := errors.Join(silent(ctx, sb), runs(ctx, l, false)); err != nil {
		return err
	}
	if err := l.Launch(ctx, sandbox.Command{Shell: hearts}); err != nil {
		return fmt.Errorf("launch by the new owner: %w", err)
	}
	return growing(ctx, sb)
}
