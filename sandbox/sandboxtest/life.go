package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
)

func lifePromises() []Promise {
	return []Promise{
		{Name: "close twice", Check: closeTwice},
		{Name: "closed is gone", Check: closedIsGone},
		{Name: "names are unique and checked", Check: uniqueNames},
		{Name: "a failed open leaves nothing", Check: failedOpen},
		{Name: "sweep removes and spares", Check: sweepSpares},
		{Name: "sweep lists before it asks", Check: sweepListsFirst},
		{Name: "attach finds the files", Needs: func(t sandbox.Traits) bool { return t.Attach }, Check: attachFiles},
		{Name: "attach ends old commands", Commands: true, Needs: func(t sandbox.Traits) bool { return t.Attach }, Check: attachEnds},
		{Name: "many at once", Check: manyAtOnce},
		{Name: "driver works", Check: func(ctx context.Context, h *Harness) error { return h.Driver.Check(ctx) }},
	}
}

// untouched returns an error if something was written beside the secret.
func (h *Harness) untouched() error {
	dir := filepath.Dir(h.SecretFile)
	if data, err := os.ReadFile(h.SecretFile); err != nil || !strings.Contains(string(data), Secret) {
		return errors.New("the secret of the host was changed")
	}
	for _, p := range []string{dir + "/planted", "/etc/planted", "/planted"} {
		if _, err := os.Lstat(p); err == nil {
			return fmt.Errorf("%s was written on the host", p)
		}
	}
	return nil
}

func closeTwice(ctx context.Context, h *Harness) error {
	sb, err := h.Driver.Open(ctx, sandbox.Spec{Name: h.name("p")})
	if err != nil {
		return err
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for range 2 {
		if err := sb.Close(cancelled); err != nil {
			return fmt.Errorf("close: %w", err)
		}
	}
	if _, err := sb.Get(ctx, "/tmp/f"); !errors.Is(err, sandbox.ErrGone) {
		return fmt.Errorf("get after close: %v, want ErrGone", err)
	}
	return nil
}

func closedIsGone(ctx context.Context, h *Harness) error {
	spec := sandbox.Spec{Name: h.name("p")}
	if err := h.with(ctx, spec, func(sb sandbox.Sandbox) error { return sb.Put(ctx, "/tmp/f", strings.NewReader("x"), 0o644) }); err != nil {
		return err
	}
	if _, err := h.Driver.Attach(ctx, spec.Name); !errors.Is(err, sandbox.ErrGone) {
		return fmt.Errorf("attach after close: %v, want ErrGone", err)
	}
	return h.with(ctx, spec, func(sb sandbox.Sandbox) error {
		if _, err := sb.Get(ctx, "/tmp/f"); err == nil {
			return errors.New("a new sandbox has files of an old one")
		}
		return nil
	})
}

func uniqueNames(ctx context.Context, h *Harness) error {
	spec := sandbox.Spec{Name: h.name("p")}
	return h.with(ctx, spec, func(sb sandbox.Sandbox) error {
		if sb.Name() != spec.Name {
			return fmt.Errorf("name %q, want %q", sb.Name(), spec.Name)
		}
		for _, name := range []string{spec.Name, "", "../x", "A", "a/b", "-x", strings.Repeat("a", 81)} {
			if other, err := h.Driver.Open(ctx, sandbox.Spec{Name: name}); err == nil {
				_ = other.Close(ctx)
				return fmt.Errorf("open %q succeeded", name)
			}
		}
		// The failed attempt must not have hurt the living one.
		return sb.Put(ctx, "/tmp/f", strings.NewReader("x"), 0o644)
	})
}

func failedOpen(ctx context.Context, h *Harness) error {
	spec := sandbox.Spec{Name: h.name("failed"), From: h.name("no-base")}
	if sb, err := h.Driver.Open(ctx, spec); !errors.Is(err, sandbox.ErrGone) {
		if err == nil {
			_ = sb.Close(ctx)
		}
		return fmt.Errorf("open from a missing base: %v, want ErrGone", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := h.Driver.Open(cancelled, sandbox.Spec{Name: spec.Name}); err == nil {
		return errors.New("open with a cancelled context succeeded")
	}
	gone, err := h.Driver.Sweep(ctx, prefixed(spec.Name))
	if err != nil || len(gone) > 0 {
		return fmt.Errorf("left behind: %q, %v", gone, err)
	}
	return nil
}

func sweepSpares(ctx context.Context, h *Harness) error {
	prefix := h.name("sweep") + "-"
	kept, err := h.Driver.Open(ctx, sandbox.Spec{Name: prefix + "kept", Labels: map[string]string{"run": "1"}})
	if err != nil {
		return err
	}
	defer func() { _ = kept.Close(ctx) }()
	lost, err := h.Driver.Open(ctx, sandbox.Spec{Name: prefix + "lost", Labels: map[string]string{"run": "2"}})
	if err != nil {
		return err
	}
	defer func() { _ = lost.Close(ctx) }()
	gone, err := h.Driver.Sweep(ctx, func(i sandbox.Info) bool {
		return !strings.HasPrefix(i.Name, prefix) || i.Labels["run"] == "1"
	})
	if err != nil || !slices.Equal(gone, []string{lost.Name()}) {
		return fmt.Errorf("swept %q, %v", gone, err)
	}
	if _, err := lost.Get(ctx, "/tmp/f"); !errors.Is(err, sandbox.ErrGone) {
		return fmt.Errorf("the swept sandbox answers %v, want ErrGone", err)
	}
	if err := kept.Put(ctx, "/tmp/f", strings.NewReader("x"), 0o644); err != nil {
		return fmt.Errorf("the kept sandbox: %w", err)
	}
	return nil
}

func sweepListsFirst(ctx context.Context, h *Harness) error {
	prefix := h.name("order") + "-"
	first, err := h.Driver.Open(ctx, sandbox.Spec{Name: prefix + "first"})
	if err != nil {
		return err
	}
	defer func() { _ = first.Close(ctx) }()
	var once sync.Once
	var second sandbox.Sandbox
	var opened error
	_, err = h.Driver.Sweep(ctx, func(i sandbox.Info) bool {
		once.Do(func() { second, opened = h.Driver.Open(ctx, sandbox.Spec{Name: prefix + "second"}) })
		return !strings.HasPrefix(i.Name, prefix)
	})
	if err := errors.Join(err, opened); err != nil {
		return err
	}
	defer func() { _ = second.Close(ctx) }()
	if err := second.Put(ctx, "/tmp/f", strings.NewReader("x"), 0o644); err != nil {
		return fmt.Errorf("a sandbox opened during the sweep: %w", err)
	}
	return nil
}

func attachFiles(ctx context.Context, h *Harness) error {
	if _, err := h.Driver.Attach(ctx, h.name("none")); !errors.Is(err, sandbox.ErrGone) {
		return fmt.Errorf("attach to nothing: %v, want ErrGone", err)
	}
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		if err := sb.Put(ctx, sandbox.RepoDir+"/f", strings.NewReader("kept"), 0o644); err != nil {
			return err
		}
		again, err := h.Driver.Attach(ctx, sb.Name())
		if err != nil {
			return err
		}
		defer func() { _ = again.Close(ctx) }()
		if got, err := read(ctx, again, sandbox.RepoDir+"/f"); err != nil || got != "kept" {
			return fmt.Errorf("after attach the file reads %q, %v", got, err)
		}
		return nil
	})
}

func attachEnds(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		out := &signal{seen: make(chan struct{})}
		ended := make(chan struct{})
		old, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			defer close(ended)
			_, _ = sb.Exec(old, sandbox.Command{Shell: awaitBeat + stubborn, Stdout: out})
		}()
		select {
		case <-out.seen:
		case <-ended:
			return errors.New("the command of the old owner ended early")
		}
		again, err := h.Driver.Attach(ctx, sb.Name())
		if err != nil {
			return err
		}
		defer func() { _ = again.Close(ctx) }()
		return still(ctx, again)
	})
}

func manyAtOnce(ctx context.Context, h *Harness) error {
	const n = 8
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			errs[i] = h.fresh(ctx, func(sb sandbox.Sandbox) error {
				want := fmt.Sprint("content ", i)
				if err := sb.Put(ctx, sandbox.RepoDir+"/f", strings.NewReader(want), 0o644); err != nil {
					return err
				}
				if got, err := read(ctx, sb, sandbox.RepoDir+"/f"); err != nil || got != want {
					return fmt.Errorf("sandbox %d reads %q, %v", i, got, err)
				}
				return nil
			})
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
