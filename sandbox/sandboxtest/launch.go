package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

func launchPromises() []Promise {
	launch := func(t sandbox.Traits) bool { return t.Launch }
	return []Promise{
		{Name: "launch needs to be asked for", Needs: launch, Check: launchAsked},
		{Name: "one launch at a time", Needs: launch, Check: launchOnce},
		{Name: "launch takes what exec takes", Commands: true, Needs: launch, Check: launchTakes},
		{Name: "launch has no streams", Commands: true, Needs: launch, Check: launchStreams},
		{Name: "launched outlives other commands", Commands: true, Needs: launch, Check: launchOutlives},
		{Name: "launch ends by its timeout", Commands: true, Needs: launch, Check: launchTimeout},
		{Name: "launched says when it has ended", Commands: true, Needs: launch, Check: launchEnds},
		{Name: "halt kills the whole tree", Commands: true, Needs: launch, Check: haltKills},
		{Name: "close ends the launched", Needs: launch, Check: closeEndsLaunched},
		{
			Name: "attach finds the launched", Commands: true, Check: attachLaunched,
			Needs: func(t sandbox.Traits) bool { return t.Launch && t.Attach },
		},
	}
}

// hearts is a program with four hearts: itself, and three children that leave in the
// ways that programs do. None of them minds being asked to end.
const hearts = `trap '' TERM INT HUP
beat='trap "" TERM INT HUP; while :; do echo x >>$0; sleep 0.05; done'
setsid bash -c "$beat" /tmp/beat-session &
nohup bash -c "$beat" /tmp/beat-nohup >/dev/null 2>&1 &
env -i bash -c "$beat" /tmp/beat-bare &
bash -c "$beat" /tmp/beat-own`

// growing returns an error unless all four hearts beat.
func growing(ctx context.Context, sb sandbox.Sandbox) error {
	_, err := shell(ctx, sb, `lines() { cat "$1" 2>/dev/null | wc -l; }
for f in session nohup bare own; do
  f=/tmp/beat-$f; a=$(lines $f); for i in $(seq 200); do [ $(lines $f) -gt $a ] && continue 2; sleep 0.05; done
  echo "$f does not grow"; exit 1
done`)
	return err
}

// silent returns an error if any heart beats.
func silent(ctx context.Context, sb sandbox.Sandbox) error {
	out, err := shell(ctx, sb, `a=$(cat /tmp/beat* 2>/dev/null | wc -l); sleep 0.3; b=$(cat /tmp/beat* 2>/dev/null | wc -l)
[ $a != 0 ] || echo never; [ $a = $b ] || echo beating`)
	switch {
	case err != nil:
		return err
	case out == "never":
		return errNever
	case out != "":
		return errors.New("what was launched still writes")
	}
	return nil
}

// launcher returns the sandbox's ability to launch.
func launcher(sb sandbox.Sandbox) (sandbox.Launcher, error) {
	l, ok := sb.(sandbox.Launcher)
	if !ok {
		return nil, errors.New("the driver claims to launch and its sandbox is no Launcher")
	}
	return l, nil
}

// launching is with for a sandbox in which programs are launched.
func (h *Harness) launching(ctx context.Context, spec sandbox.Spec, check func(sandbox.Sandbox, sandbox.Launcher) error) error {
	spec.Launch = true
	return h.with(ctx, spec, func(sb sandbox.Sandbox) error {
		l, err := launcher(sb)
		if err != nil {
			return err
		}
		return check(sb, l)
	})
}

// runs compares what Launched says.
func runs(ctx context.Context, l sandbox.Launcher, want bool) error {
	got, err := l.Launched(ctx)
	if err == nil && got != want {
		err = fmt.Errorf("launched is %v, want %v", got, want)
	}
	return err
}

// until polls a condition for at most that long, and reports whether it came about.
func until(ctx context.Context, most time.Duration, done func() (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return ok, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, nil
		}
	}
}

// ended waits until nothing that was launched runs, for at most that long.
func ended(ctx context.Context, l sandbox.Launcher, most time.Duration) (bool, error) {
	return until(ctx, most, func() (bool, error) {
		running, err := l.Launched(ctx)
		return !running, err
	})
}

// toEnd is how long a program may take that has nothing more to do.
const toEnd = 20 * time.Second

// finished is ended for a program that has to end.
func finished(ctx context.Context, l sandbox.Launcher) error {
	done, err := ended(ctx, l, toEnd)
	if err == nil && !done {
		err = errors.New("the launched program does not end")
	}
	return err
}

func launchAsked(ctx context.Context, h *Harness) error {
	err := h.fresh(ctx, func(sb sandbox.Sandbox) error {
		l, ok := sb.(sandbox.Launcher)
		if !ok {
			return nil
		}
		if l.Launch(ctx, sandbox.Command{Shell: "sleep 60"}) == nil {
			return errors.New("launch without Spec.Launch succeeded")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.launching(ctx, sandbox.Spec{}, func(_ sandbox.Sandbox, l sandbox.Launcher) error {
		if err := errors.Join(runs(ctx, l, false), l.Halt(ctx)); err != nil {
			return fmt.Errorf("nothing was launched: %w", err)
		}
		if l.Launch(ctx, sandbox.Command{}) == nil {
			return errors.New("an empty command was launched")
		}
		return nil
	})
}

func launchOnce(ctx context.Context, h *Harness) error {
	return h.launching(ctx, sandbox.Spec{}, func(_ sandbox.Sandbox, l sandbox.Launcher) error {
		for range 2 {
			if err := l.Launch(ctx, sandbox.Command{Shell: "sleep 60"}); err != nil {
				return err
			}
			if l.Launch(ctx, sandbox.Command{Shell: "sleep 60"}) == nil {
				return errors.New("a second program was launched beside the first")
			}
			if err := runs(ctx, l, true); err != nil {
				return fmt.Errorf("after a refused launch: %w", err)
			}
			for range 2 {
				if err := l.Halt(ctx); err != nil {
					return fmt.Errorf("halt: %w", err)
				}
			}
			if err := runs(ctx, l, false); err != nil {
				return fmt.Errorf("after halt: %w", err)
			}
		}
		return nil
	})
}

func launchTakes(ctx context.Context, h *Harness) error {
	return h.launching(ctx, sandbox.Spec{}, func(sb sandbox.Sandbox, l sandbox.Launcher) error {
		dir := sandbox.HomeDir + "/own"
		if err := sb.Put(ctx, dir+"/mine", strings.NewReader("#!/bin/bash\necho \"$*|$FOO|$HOME|$PWD\" >>/tmp/said\n"), 0o755); err != nil {
			return err
		}
		env := map[string]string{"FOO": "a b\nc"}
		long := "mine long\n" + strings.Repeat("# 0123456789abcde\n", 20_000)
		for _, c := range []sandbox.Command{
			{Argv: []string{"mine", "one  two", "$X"}, Env: env, Path: []string{dir}},
			{Shell: "mine three", Env: env, Path: []string{dir}, Dir: "/tmp"},
			{Shell: long, Env: env, Path: []string{dir}},
		} {
			if err := l.Launch(ctx, c); err != nil {
				return err
			}
			if err := finished(ctx, l); err != nil {
				return err
			}
		}
		want := fmt.Sprintf("one  two $X|a b\nc|%[1]s|%[2]s\nthree|a b\nc|%[1]s|/tmp\nlong|a b\nc|%[1]s|%[2]s\n", sandbox.HomeDir, sandbox.RepoDir)
		if got, err := read(ctx, sb, "/tmp/said"); err != nil || got != want {
			return fmt.Errorf("the program saw %q, %v; want %q", got, err, want)
		}
		return nil
	})
}

func launchStreams(ctx context.Context, h *Harness) error {
	return h.launching(ctx, sandbox.Spec{}, func(sb sandbox.Sandbox, l sandbox.Launcher) error {
		var out bytes.Buffer
		// Far more output than any pipe holds: it must not hold up the program.
		c := sandbox.Command{
			Shell: "cat >/tmp/in; head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo kept >/tmp/file",
			Stdin: strings.NewReader("input"), Stdout: &out, Stderr: &out,
		}
		if err := l.Launch(ctx, c); err != nil {
			return err
		}
		if err := finished(ctx, l); err != nil {
			return err
		}
		if out.Len() > 0 {
			return fmt.Errorf("%d bytes of output arrived", out.Len())
		}
		return expect(ctx, sb, "cat /tmp/in /tmp/file", "kept")
	})
}
