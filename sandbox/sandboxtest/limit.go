package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

func limitPromises() []Promise {
	return []Promise{
		{Name: "memory limit", Commands: true, Needs: func(t sandbox.Traits) bool { return t.MemoryLimit }, Check: memoryLimit},
		{Name: "process limit", Commands: true, Needs: func(t sandbox.Traits) bool { return t.ProcessLimit }, Check: processLimit},
		{Name: "cpu limit", Commands: true, Needs: func(t sandbox.Traits) bool { return t.CPULimit }, Check: cpuLimit},
		{Name: "disk limit", Commands: true, Needs: func(t sandbox.Traits) bool { return t.DiskLimit }, Check: diskLimit},
		{Name: "negative limit is refused", Check: negativeLimit},
	}
}

func memoryLimit(ctx context.Context, h *Harness) error {
	return h.with(ctx, sandbox.Spec{Limits: sandbox.Limits{Memory: 64 << 20}}, func(sb sandbox.Sandbox) error {
		res, err := sb.Exec(ctx, sandbox.Command{Shell: "head -c 300000000 /dev/zero | tail -c 200000000 >/tmp/x; exit ${PIPESTATUS[1]}", Timeout: time.Minute})
		if err != nil {
			return err
		}
		if !res.OOM || res.ExitCode != 137 {
			return fmt.Errorf("200 MB in a sandbox of 64 MiB: %+v", res)
		}
		res, err = sb.Exec(ctx, sandbox.Command{Shell: "true"})
		if err != nil || res.OOM || res.ExitCode != 0 {
			return fmt.Errorf("the next command: %+v, %v", res, err)
		}
		return nil
	})
}

func processLimit(ctx context.Context, h *Harness) error {
	const limit = 40
	return h.with(ctx, sandbox.Spec{Limits: sandbox.Limits{Processes: limit}}, func(sb sandbox.Sandbox) error {
		// dash gives up at the first refusal; the count needs no process of its own.
		out, res, err := sandbox.Output(ctx, sb, sandbox.Command{
			Shell:   "dash -c 'for i in $(seq 300); do sleep 20 & done' 2>/dev/null; set -- /proc/[0-9]*; echo $#",
			Timeout: 60 * time.Second, MaxOutput: 100_000,
		})
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSpace(out))
		if err != nil || n > 2*limit {
			return fmt.Errorf("%q processes with a limit of %d (%+v)", out, limit, res)
		}
		if _, err := sb.Exec(ctx, sandbox.Command{Shell: ":(){ :|:& };:; sleep 300", Timeout: time.Second}); err != nil {
			return fmt.Errorf("fork bomb: %w", err)
		}
		return expect(ctx, sb, "echo alive", "alive")
	})
}

func cpuLimit(ctx context.Context, h *Harness) error {
	return h.with(ctx, sandbox.Spec{Limits: sandbox.Limits{CPUs: 0.2}}, func(sb sandbox.Sandbox) error {
		out, err := shell(ctx, sb, "timeout 1.5 bash -c 'while :; do :; done' ; times | tail -1")
		if err != nil {
			return err
		}
		user, _, _ := strings.Cut(out, "s ")
		_, sec, ok := strings.Cut(user, "m")
		used, err := strconv.ParseFloat(sec, 64)
		if !ok || err != nil {
			return fmt.Errorf("cannot read times %q", out)
		}
		if used > 0.6 {
			return fmt.Errorf("%.2f s of processor time in 1.5 s with a limit of 0.2", used)
		}
		return nil
	})
}

func diskLimit(ctx context.Context, h *Harness) error {
	for _, text := range []string{
		"head -c 100000000 /dev/zero >/tmp/one; sleep 5",
		"for i in $(seq 100); do head -c 1000000 /dev/zero >/tmp/$i; done; sleep 60",
		"mkdir /workspace/repo/d && cd /workspace/repo/d && fallocate -l 9M a && fallocate -l 9M b && fallocate -l 9M c && chmod 000 . && sleep 60",
	} {
		err := h.with(ctx, sandbox.Spec{Limits: sandbox.Limits{Disk: 16 << 20}}, func(sb sandbox.Sandbox) error {
			res, err := sb.Exec(ctx, sandbox.Command{Shell: text, Timeout: 50 * time.Second})
			if !errors.Is(err, sandbox.ErrDisk) {
				return fmt.Errorf("%q: %+v, %v; want ErrDisk", text, res, err)
			}
			if _, err := sb.Exec(ctx, sandbox.Command{Shell: "true"}); !errors.Is(err, sandbox.ErrDisk) {
				return fmt.Errorf("the next command: %v, want ErrDisk", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func negativeLimit(ctx context.Context, h *Harness) error {
	sb, err := h.Driver.Open(ctx, sandbox.Spec{Name: h.name("p"), Limits: sandbox.Limits{Memory: -1}})
	if err == nil {
		_ = sb.Close(ctx)
	}
	if !errors.Is(err, sandbox.ErrLimit) {
		return fmt.Errorf("error %v, want ErrLimit", err)
	}
	return nil
}
