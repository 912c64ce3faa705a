package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing/iotest"

	"github.com/yudai-dev/yudai/sandbox"
)

func filePromises() []Promise {
	return []Promise{
		{Name: "files go in and out", Check: filesInOut},
		{Name: "files have their mode", Commands: true, Check: fileModes},
		{Name: "paths cannot escape", Check: pathsCannotEscape},
		{Name: "links cannot escape", Commands: true, Check: linksCannotEscape},
		{Name: "only regular files come out", Commands: true, Check: onlyRegular},
		{Name: "a broken input leaves no file", Check: brokenInput},
	}
}

// read returns the content of a file.
func read(ctx context.Context, sb sandbox.Sandbox, p string) (string, error) {
	r, err := sb.Get(ctx, p)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(r)
	return string(data), errors.Join(err, r.Close())
}

func filesInOut(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		big := strings.Repeat("\x00\xffbinary\n", 300_000)
		for _, text := range []string{"first", "", big} {
			p := sandbox.RepoDir + "/new dir/-odd 'name'\n"
			if err := sb.Put(ctx, p, strings.NewReader(text), 0o644); err != nil {
				return err
			}
			got, err := read(ctx, sb, p)
			if err != nil || got != text {
				return fmt.Errorf("%d bytes in, %d out, %v", len(text), len(got), err)
			}
		}
		if _, err := sb.Get(ctx, "/tmp/none"); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("missing file: %v, want fs.ErrNotExist", err)
		}
		r, err := sb.Get(ctx, sandbox.RepoDir+"/new dir/-odd 'name'\n") // abandoned in the middle
		if err != nil {
			return err
		}
		_, _ = r.Read(make([]byte, 10))
		return r.Close()
	})
}

func fileModes(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		for mode, want := range map[fs.FileMode]string{0o755: "755", 0o600: "600", 0o444: "444"} {
			if err := sb.Put(ctx, "/tmp/f", strings.NewReader("#!/bin/sh\n"), mode); err != nil {
				return err
			}
			if err := expect(ctx, sb, "stat -c %a /tmp/f", want); err != nil {
				return err
			}
		}
		return nil
	})
}

func pathsCannotEscape(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		up := sandbox.RepoDir + strings.Repeat("/..", 30)
		for _, p := range []string{h.SecretFile + "x", up + "/etc/shadow", "relative", "", "/", "/workspace/../etc/passwd", "/etc/passwd", "/workspacex/f"} {
			if strings.HasPrefix(p, "/tmp/") { // a place the sandbox has too
				continue
			}
			if _, err := sb.Get(ctx, p); !errors.Is(err, sandbox.ErrPath) {
				return fmt.Errorf("get %q: %v, want ErrPath", p, err)
			}
			if err := sb.Put(ctx, p, strings.NewReader("x"), 0o644); !errors.Is(err, sandbox.ErrPath) {
				return fmt.Errorf("put %q: %v, want ErrPath", p, err)
			}
		}
		return nil
	})
}

func linksCannotEscape(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		dir := h.SecretFile[:strings.LastIndex(h.SecretFile, "/")]
		if _, err := shell(ctx, sb, fmt.Sprintf("cd %s && ln -s '%s' file && ln -s '%s' dir && ln -s /etc etc && ln -s / root", sandbox.RepoDir, h.SecretFile, dir)); err != nil {
			return err
		}
		for _, p := range []string{"/file", "/dir/secret", "/etc/passwd", "/root/etc/passwd"} {
			if got, err := read(ctx, sb, sandbox.RepoDir+p); err == nil {
				return fmt.Errorf("get %s gave %.40q", p, got)
			}
		}
		for _, p := range []string{"/dir/planted", "/etc/planted", "/root/planted"} {
			_ = sb.Put(ctx, sandbox.RepoDir+p, strings.NewReader("x"), 0o644)
		}
		// A link at the place of a file is replaced, not followed.
		if err := sb.Put(ctx, sandbox.RepoDir+"/file", strings.NewReader("mine"), 0o644); err != nil {
			return err
		}
		if got, err := read(ctx, sb, sandbox.RepoDir+"/file"); err != nil || got != "mine" {
			return fmt.Errorf("a replaced link reads %q, %v", got, err)
		}
		return h.untouched()
	})
}

func onlyRegular(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		if _, err := shell(ctx, sb, "cd /tmp && mkdir d && mkfifo p && ln -s /dev/zero z"); err != nil {
			return err
		}
		for _, p := range []string{"/tmp/d", "/tmp/p", "/tmp/z"} {
			if _, err := sb.Get(ctx, p); !errors.Is(err, sandbox.ErrPath) {
				return fmt.Errorf("get %s: %v, want ErrPath", p, err)
			}
		}
		if err := sb.Put(ctx, "/tmp/d", strings.NewReader("x"), 0o644); !errors.Is(err, sandbox.ErrPath) {
			return fmt.Errorf("put over a directory: %v, want ErrPath", err)
		}
		return nil
	})
}

func brokenInput(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		broken := errors.New("broken on purpose")
		from := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))
		if err := sb.Put(ctx, "/tmp/f", from, 0o644); !errors.Is(err, broken) {
			return fmt.Errorf("put: %v, want the reader's error", err)
		}
		if _, err := sb.Get(ctx, "/tmp/f"); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("half a file is there: %v", err)
		}
		return nil
	})
}
