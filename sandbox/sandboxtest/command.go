package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
)

func commandPromises() []Promise {
	return []Promise{
		{Name: "exit codes", Commands: true, Check: exitCodes},
		{Name: "missing program is a result", Commands: true, Check: missingProgram},
		{Name: "separate streams", Commands: true, Check: separateStreams},
		{Name: "one writer keeps order", Commands: true, Check: mergedOrder},
		{Name: "output limit", Commands: true, Check: outputLimit},
		{Name: "input", Commands: true, Check: input},
		{Name: "fixed environment", Commands: true, Check: fixedEnvironment},
		{Name: "directory", Commands: true, Check: directory},
		{Name: "long command text", Commands: true, Check: longText},
		{Name: "commands at once", Commands: true, Check: commandsAtOnce},
		{Name: "neither argv nor shell", Check: emptyCommand},
	}
}

func exitCodes(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		for text, want := range map[string]int{"true": 0, "exit 3": 3, "kill -9 $$": 137, "no-such-program": 127} {
			res, err := sb.Exec(ctx, sandbox.Command{Shell: text})
			if err != nil {
				return fmt.Errorf("%q: %w", text, err)
			}
			if res.ExitCode != want || res.TimedOut || res.Truncated {
				return fmt.Errorf("%q: result %+v, want exit %d", text, res, want)
			}
		}
		res, err := sb.Exec(ctx, sandbox.Command{Argv: []string{"sh", "-c", "exit $1", "x", "7"}})
		if err != nil {
			return fmt.Errorf("argv: %w", err)
		}
		if res.ExitCode != 7 {
			return fmt.Errorf("argv: result %+v, want exit 7", res)
		}
		return nil
	})
}

func missingProgram(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		res, err := sb.Exec(ctx, sandbox.Command{Argv: []string{"no-such-program"}})
		if err != nil {
			return fmt.Errorf("a missing program is no error of the sandbox: %w", err)
		}
		if res.ExitCode != 127 {
			return fmt.Errorf("result %+v, want exit 127", res)
		}
		return nil
	})
}

func separateStreams(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		var out, errs bytes.Buffer
		_, err := sb.Exec(ctx, sandbox.Command{Shell: "echo to-out; echo to-err >&2", Stdout: &out, Stderr: &errs})
		if err != nil {
			return err
		}
		if out.String() != "to-out\n" || errs.String() != "to-err\n" {
			return fmt.Errorf("stdout %q, stderr %q", out.String(), errs.String())
		}
		return nil
	})
}

func mergedOrder(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		want := strings.Repeat("a\nb\n", 50)
		got, _, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: "for i in $(seq 50); do echo a; echo b >&2; done"})
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("order lost: %.60q", got)
		}
		return nil
	})
}

func outputLimit(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		var out, errs bytes.Buffer
		c := sandbox.Command{Shell: "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2", Stdout: &out, Stderr: &errs, MaxOutput: 1000}
		res, err := sb.Exec(ctx, c)
		if err != nil {
			return err
		}
		if n := out.Len() + errs.Len(); n != 1000 || !res.Truncated || res.ExitCode != 0 {
			return fmt.Errorf("%d bytes passed on, result %+v", n, res)
		}
		out.Reset()
		res, err = sb.Exec(ctx, sandbox.Command{Shell: "head -c 1000 /dev/zero", Stdout: &out, MaxOutput: 1000})
		if err != nil {
			return fmt.Errorf("exactly the limit: %w", err)
		}
		if out.Len() != 1000 || res.Truncated {
			return fmt.Errorf("exactly the limit: %d bytes, result %+v", out.Len(), res)
		}
		return nil
	})
}

func input(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		text := strings.Repeat("line\n", 50_000)
		var out bytes.Buffer
		_, err := sb.Exec(ctx, sandbox.Command{Shell: "wc -c", Stdin: strings.NewReader(text), Stdout: &out})
		if err != nil {
			return fmt.Errorf("input: %w", err)
		}
		if strings.TrimSpace(out.String()) != fmt.Sprint(len(text)) {
			return fmt.Errorf("input arrived as %q", out.String())
		}
		out.Reset()
		_, err = sb.Exec(ctx, sandbox.Command{Shell: "wc -c", Stdout: &out})
		if err != nil {
			return fmt.Errorf("no input: %w", err)
		}
		if strings.TrimSpace(out.String()) != "0" {
			return fmt.Errorf("no input is %q", out.String())
		}
		// A command that does not read its input ends all the same.
		_, err = sb.Exec(ctx, sandbox.Command{Shell: "true", Stdin: strings.NewReader(text)})
		return err
	})
}

func fixedEnvironment(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		var out bytes.Buffer
		c := sandbox.Command{
			Shell:  `echo "$HOME|$TERM|$FOO|${LANG:+set}|${USER:+set}"; test -w "$HOME" && command -v git >/dev/null && echo ok`,
			Stdout: &out, Env: map[string]string{"FOO": "a b\nc"},
		}
		if _, err := sb.Exec(ctx, c); err != nil {
			return err
		}
		if want := sandbox.HomeDir + "|dumb|a b\nc|set|set\nok\n"; out.String() != want {
			return fmt.Errorf("environment %q, want %q", out.String(), want)
		}
		return errors.Join(oddNames(ctx, sb), ownPrograms(ctx, sb))
	})
}

// oddNames checks that variables arrive whose names no shell would take, or that a
// shell or a driver's own script has itself.
func oddNames(ctx context.Context, sb sandbox.Sandbox) error {
	env := map[string]string{"npm_config_@scope:registry": "a 'b'", "UID": "77", "within": "w", "p": "q", "bash": "z", "text": "t"}
	out, _, err := sandbox.Output(ctx, sb, sandbox.Command{Argv: []string{"env"}, Env: env})
	for k, v := range env {
		if err == nil && !slices.Contains(strings.Split(out, "\n"), k+"="+v) {
			err = fmt.Errorf("the variable %s=%s did not arrive:\n%s", k, v, out)
		}
	}
	return err
}

// ownPrograms checks that Path goes before the sandbox's own programs, and does not replace them.
func ownPrograms(ctx context.Context, sb sandbox.Sandbox) error {
	dir := sandbox.HomeDir + "/own"
	if err := sb.Put(ctx, dir+"/git", strings.NewReader("#!/bin/bash\necho mine\n"), 0o755); err != nil {
		return err
	}
	out, _, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: "git && command -v bash", Path: []string{"/nowhere", dir}})
	if err == nil && !strings.HasPrefix(out, "mine\n/") {
		err = fmt.Errorf("programs of the command's own path printed %q", out)
	}
	return err
}

func directory(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		for dir, want := range map[string]string{"": sandbox.RepoDir, "/tmp": "/tmp", sandbox.KeepDir: sandbox.KeepDir} {
			out, _, err := sandbox.Output(ctx, sb, sandbox.Command{Argv: []string{"pwd"}, Dir: dir})
			if err != nil {
				return fmt.Errorf("directory %q: %w", dir, err)
			}
			if strings.TrimSpace(out) != want {
				return fmt.Errorf("directory %q is %q", dir, out)
			}
		}
		res, err := sb.Exec(ctx, sandbox.Command{Argv: []string{"true"}, Dir: "/workspace/none"})
		if err == nil && res.ExitCode == 0 {
			return errors.New("a command ran in a directory that does not exist")
		}
		return nil
	})
}

func longText(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		text := "cat <<'END' | wc -c\n" + strings.Repeat("0123456789abcde\n", 20_000) + "END\nexit 4"
		out, res, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: text})
		if err != nil || res.ExitCode != 4 || strings.TrimSpace(out) != "320000" {
			return fmt.Errorf("got %.40q, %+v, %v", out, res, err)
		}
		return nil
	})
}

func commandsAtOnce(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		// Each waits until the others have made their file, so none can run alone.
		const n = 3
		errs := make([]error, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				text := fmt.Sprintf("touch /tmp/at-%d; for i in $(seq 600); do [ $(ls /tmp/at-* | wc -l) = %d ] && exit 0; sleep 0.05; done; exit 1", i, n)
				_, errs[i] = shell(ctx, sb, text)
			})
		}
		all.Wait()
		return errors.Join(errs...)
	})
}

func emptyCommand(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		if _, err := sb.Exec(ctx, sandbox.Command{}); err == nil {
			return errors.New("an empty command is no error")
		}
		return nil
	})
}
