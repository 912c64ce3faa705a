package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

func forkPromises() []Promise {
	fork := func(t sandbox.Traits) bool { return t.Fork }
	return []Promise{
		{Name: "forks are independent", Needs: fork, Check: forksIndependent},
		{Name: "forks keep all kinds of files", Commands: true, Needs: fork, Check: forkKinds},
		{Name: "forks of forks", Needs: fork, Check: forkOfFork},
		{Name: "freeze and thaw", Needs: fork, Check: freezeThaw},
		{Name: "sweep knows bases", Needs: fork, Check: sweepBases},
		{Name: "stamp", Check: stamp},
		{Name: "stamp of a fork", Commands: true, Needs: fork, Check: stampFork},
	}
}

// forker returns the driver's ability to fork.
func (h *Harness) forker() (sandbox.Forker, error) {
	f, ok := h.Driver.(sandbox.Forker)
	if !ok {
		return nil, errors.New("the driver claims to fork and is no Forker")
	}
	return f, nil
}

// base prepares a base and removes it after the check.
func (h *Harness) base(ctx context.Context, prepare func(sandbox.Sandbox) error, check func(base string) error) (err error) {
	f, err := h.forker()
	if err != nil {
		return err
	}
	sb, err := h.Driver.Open(ctx, sandbox.Spec{Name: h.name("base")})
	if err != nil {
		return err
	}
	if err := prepare(sb); err != nil {
		return errors.Join(err, sb.Close(ctx))
	}
	base, err := f.Freeze(ctx, sb)
	if err != nil {
		return errors.Join(fmt.Errorf("freeze: %w", err), sb.Close(ctx))
	}
	defer func() { err = errors.Join(err, f.Thaw(ctx, base)) }()
	return check(base)
}

func put(ctx context.Context, sb sandbox.Sandbox, p, text string) error {
	return sb.Put(ctx, p, strings.NewReader(text), 0o644)
}

func forksIndependent(ctx context.Context, h *Harness) error {
	const file = sandbox.RepoDir + "/f"
	prepare := func(sb sandbox.Sandbox) error {
		return errors.Join(put(ctx, sb, file, "base"), put(ctx, sb, "/tmp/t", "base"), put(ctx, sb, sandbox.HomeDir+"/h", "base"))
	}
	return h.base(ctx, prepare, func(base string) error {
		return h.with(ctx, sandbox.Spec{From: base}, func(a sandbox.Sandbox) error {
			return h.with(ctx, sandbox.Spec{From: base}, func(b sandbox.Sandbox) error {
				if err := errors.Join(put(ctx, a, file, "a"), put(ctx, a, sandbox.RepoDir+"/only-a", "a")); err != nil {
					return err
				}
				for _, p := range []string{file, "/tmp/t", sandbox.HomeDir + "/h"} {
					if got, err := read(ctx, b, p); err != nil || got != "base" {
						return fmt.Errorf("the other fork reads %s as %q, %v", p, got, err)
					}
				}
				if _, err := b.Get(ctx, sandbox.RepoDir+"/only-a"); !errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("a file of one fork is in the other: %v", err)
				}
				if got, err := read(ctx, a, file); err != nil || got != "a" {
					return fmt.Errorf("a fork reads its own file as %q, %v", got, err)
				}
				return nil
			})
		})
	})
}

func forkKinds(ctx context.Context, h *Harness) error {
	look := `cd /workspace/repo && find . ! -name . -printf '%P %y %m %s %l %T@\n' | grep -v '^dir d' | sort; cat closed/f`
	if h.Driver.Traits().CoarseTimes {
		look = strings.ReplaceAll(look, "| sort", "| sed -E 's/[.][0-9]+$//' | sort")
	}
	var before string
	prepare := func(sb sandbox.Sandbox) (err error) {
		_, err = shell(ctx, sb, `cd /workspace/repo && mkdir -p dir/sub closed && echo x >dir/file && chmod 750 dir/file && ln -s file dir/link &&
ln dir/file dir/hard && mkfifo dir/fifo && : >'odd
name' && echo y >closed/f && chmod 500 closed && touch -d 2001-02-03 dir/file`)
		if err == nil {
			before, err = shell(ctx, sb, look)
		}
		return err
	}
	return h.base(ctx, prepare, func(base string) error {
		return h.with(ctx, sandbox.Spec{From: base}, func(sb sandbox.Sandbox) error {
			if err := expect(ctx, sb, look, before); err != nil {
				return err
			}
			return expect(ctx, sb, "cd /workspace/repo && rm -r dir && mkdir dir && ls -A dir && echo z >dir/new && cat dir/new", "z")
		})
	})
}

func forkOfFork(ctx context.Context, h *Harness) error {
	first := func(sb sandbox.Sandbox) error {
		return errors.Join(put(ctx, sb, "/tmp/1", "one"), put(ctx, sb, "/tmp/x", "one"))
	}
	return h.base(ctx, first, func(base string) error {
		f, err := h.forker()
		if err != nil {
			return err
		}
		mid, err := h.Driver.Open(ctx, sandbox.Spec{Name: h.name("mid"), From: base})
		if err != nil {
			return err
		}
		if err := errors.Join(put(ctx, mid, "/tmp/2", "two"), put(ctx, mid, "/tmp/x", "two")); err != nil {
			return errors.Join(err, mid.Close(ctx))
		}
		second, err := f.Freeze(ctx, mid)
		if err != nil {
			return errors.Join(err, mid.Close(ctx))
		}
		err = h.with(ctx, sandbox.Spec{From: second}, func(sb sandbox.Sandbox) error {
			for p, want := range map[string]string{"/tmp/1": "one", "/tmp/2": "two", "/tmp/x": "two"} {
				if got, err := read(ctx, sb, p); err != nil || got != want {
					return fmt.Errorf("%s reads %q, %v", p, got, err)
				}
			}
			return nil
		})
		return errors.Join(err, f.Thaw(ctx, second))
	})
}

func freezeThaw(ctx context.Context, h *Harness) error {
	f, err := h.forker()
	if err != nil {
		return err
	}
	sb, err := h.Driver.Open(ctx, sandbox.Spec{Name: h.name("base")})
	if err != nil {
		return err
	}
	if f.HasBase(ctx, sb.Name()) {
		return errors.New("a base is there before it was frozen")
	}
	for range 2 {
		if base, err := f.Freeze(ctx, sb); err != nil || base != sb.Name() {
			return fmt.Errorf("freeze gave %q, %v", base, err)
		}
	}
	if !f.HasBase(ctx, sb.Name()) {
		return errors.New("the frozen base is not there")
	}
	if _, err := sb.Get(ctx, "/tmp/f"); !errors.Is(err, sandbox.ErrGone) {
		return fmt.Errorf("the frozen sandbox answers %v, want ErrGone", err)
	}
	if err := sb.Close(ctx); err != nil || !f.HasBase(ctx, sb.Name()) {
		return fmt.Errorf("close after freeze: %v, and the base must stay", err)
	}
	for range 2 {
		if err := f.Thaw(ctx, sb.Name()); err != nil {
			return fmt.Errorf("thaw: %w", err)
		}
	}
	if f.HasBase(ctx, sb.Name()) {
		return errors.New("the base is there after thaw")
	}
	if _, err := h.Driver.Open(ctx, sandbox.Spec{Name: h.name("p"), From: sb.Name()}); !errors.Is(err, sandbox.ErrGone) {
		return fmt.Errorf("open from a thawed base: %v, want ErrGone", err)
	}
	return nil
}

func sweepBases(ctx context.Context, h *Harness) error {
	f, err := h.forker()
	if err != nil {
		return err
	}
	return h.base(ctx, func(sb sandbox.Sandbox) error { return put(ctx, sb, "/tmp/f", "x") }, func(base string) error {
		seen := false
		if _, err := h.Driver.Sweep(ctx, func(i sandbox.Info) bool {
			seen = seen || i.Name == base && i.Base
			return true
		}); err != nil || !seen || !f.HasBase(ctx, base) {
			return fmt.Errorf("sweep saw the base: %v, kept it: %v, %v", seen, f.HasBase(ctx, base), err)
		}
		gone, err := h.Driver.Sweep(ctx, func(i sandbox.Info) bool { return i.Name != base })
		if err != nil || len(gone) != 1 || f.HasBase(ctx, base) {
			return fmt.Errorf("swept %q, %v, base there: %v", gone, err, f.HasBase(ctx, base))
		}
		return nil
	})
}

// stamper returns a function that stamps, or nothing if the sandbox cannot.
func stamper(ctx context.Context, sb sandbox.Sandbox) (func() (string, error), bool) {
	s, ok := sb.(sandbox.Stamper)
	if !ok {
		return nil, false
	}
	return func() (string, error) { return s.Stamp(ctx) }, true
}

// stampSteps checks that each step changes the stamp, and that nothing else does.
func stampSteps(ctx context.Context, sb sandbox.Sandbox, steps []func() error) error {
	stamp, ok := stamper(ctx, sb)
	if !ok {
		return nil
	}
	last, err := stamp()
	if err != nil {
		return err
	}
	for i, step := range steps {
		if again, err := stamp(); err != nil || again != last {
			return fmt.Errorf("step %d: the stamp of an untouched tree changed, %v", i, err)
		}
		if err := step(); err != nil {
			return err
		}
		now, err := stamp()
		if err != nil {
			return err
		}
		if now == last {
			return fmt.Errorf("step %d changed the tree and not the stamp", i)
		}
		last = now
	}
	return nil
}

func stamp(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		file := sandbox.RepoDir + "/dir/f"
		return stampSteps(ctx, sb, []func() error{
			func() error { return put(ctx, sb, file, "one") },
			func() error { return put(ctx, sb, file, "two") },
			func() error { return put(ctx, sb, file+"2", "") },
		})
	})
}

func stampFork(ctx context.Context, h *Harness) error {
	prepare := func(sb sandbox.Sandbox) error {
		_, err := shell(ctx, sb, "cd /workspace/repo && mkdir -p a/b && echo 1 >a/b/f && echo 2 >g && ln -s g l")
		return err
	}
	return h.base(ctx, prepare, func(base string) error {
		return h.with(ctx, sandbox.Spec{From: base}, func(sb sandbox.Sandbox) error {
			var steps []func() error
			for _, text := range []string{
				"echo 3 >>a/b/f", "chmod 600 g", "rm g", "rm l", "mkdir n", "rmdir n", "printf x | dd of=a/b/f conv=notrunc", "rm -r a", `: >"$(printf 'x\ny')"`,
			} {
				steps = append(steps, func() error {
					_, err := shell(ctx, sb, "cd /workspace/repo && "+text)
					return err
				})
			}
			if err := stampSteps(ctx, sb, steps); err != nil {
				return err
			}
			// Reading is no change.
			s, ok := stamper(ctx, sb)
			if !ok {
				return nil
			}
			before, err := s()
			if err != nil {
				return err
			}
			if _, err := shell(ctx, sb, "cd /workspace/repo && ls -lR >/dev/null; echo x >/tmp/elsewhere"); err != nil {
				return err
			}
			if after, err := s(); err != nil || after != before {
				return fmt.Errorf("reading changed the stamp, %v", err)
			}
			return nil
		})
	})
}
