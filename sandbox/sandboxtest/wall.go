package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

func wallPromises() []Promise {
	return []Promise{
		{Name: "no host environment", Commands: true, Check: noHostEnvironment},
		{Name: "no host files", Commands: true, Check: noHostFiles},
		{Name: "no host processes", Commands: true, Check: noHostProcesses},
		{Name: "no network unless asked", Commands: true, Check: noNetwork},
		{Name: "not privileged", Commands: true, Needs: func(t sandbox.Traits) bool { return !t.Machine }, Check: notPrivileged},
		{Name: "other sandboxes are out of sight", Commands: true, Check: noOthers},
		{Name: "allow-list refuses and tells", Commands: true, Needs: func(t sandbox.Traits) bool { return t.Network && t.Proxy }, Check: allowList},
	}
}

func noHostEnvironment(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		out, err := shell(ctx, sb, "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'")
		if err != nil {
			return err
		}
		if strings.Contains(out, h.EnvName) || strings.Contains(out, Secret) {
			return errors.New("a variable of the host is visible")
		}
		return nil
	})
}

func noHostFiles(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		home, _ := os.UserHomeDir()
		for _, p := range []string{h.SecretFile, "/proc/1/root" + h.SecretFile, "/etc/shadow", home + "/.", "/var/lib/.", "/proc/1/cwd" + home + "/."} {
			text := fmt.Sprintf("if [ -d '%[1]s' ]; then ls -A '%[1]s'; else cat '%[1]s'; fi 2>/dev/null || true", p)
			out, err := shell(ctx, sb, text)
			if err != nil {
				return err
			}
			if out != "" {
				return fmt.Errorf("%s of the host can be read", p)
			}
		}
		return nil
	})
}

func noHostProcesses(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		// The test itself is a process of the host that a shared namespace would show.
		out, err := shell(ctx, sb, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; ls -d /proc/[0-9]* | wc -l")
		if err != nil {
			return err
		}
		lines := strings.Split(out, "\n")
		if strings.Contains(out, ".test") || len(lines[len(lines)-1]) > 2 {
			return fmt.Errorf("processes of the host are visible: %.200s", out)
		}
		return nil
	})
}

func noNetwork(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		host, port, err := net.SplitHostPort(h.Address)
		if err != nil {
			return err
		}
		for _, target := range []string{host + "/" + port, "1.1.1.1/443", "169.254.169.254/80"} {
			out, err := shell(ctx, sb, "timeout 3 bash -c 'exec 3<>/dev/tcp/"+target+" && echo reached' 2>/dev/null || true")
			if err != nil {
				return err
			}
			if strings.Contains(out, "reached") {
				return fmt.Errorf("%s can be reached", target)
			}
		}
		return nil
	})
}

func notPrivileged(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(sb sandbox.Sandbox) error {
		out, err := shell(ctx, sb, `[ "$(id -u)" != 0 ] || echo root
[ "$(awk '/CapEff/{print $2}' /proc/self/status)" = 0000000000000000 ] || echo capabilities
[ "$(awk '/NoNewPrivs/{print $2}' /proc/self/status)" = 1 ] || echo can gain privileges
f=/proc/sys/kernel/core_pattern; { old=$(cat $f) && printf %s "$old" >$f; } 2>/dev/null && echo kernel settings
unshare -Ur true 2>/dev/null && echo new namespaces
mount -t tmpfs none /tmp 2>/dev/null && echo mounts
touch /usr/x /etc/x /x 2>/dev/null && echo system directories
true`)
		if err != nil {
			return err
		}
		if out != "" {
			return fmt.Errorf("allowed: %s", out)
		}
		return nil
	})
}

func noOthers(ctx context.Context, h *Harness) error {
	return h.fresh(ctx, func(a sandbox.Sandbox) error {
		return h.fresh(ctx, func(b sandbox.Sandbox) error {
			for _, p := range []string{sandbox.RepoDir, "/tmp", sandbox.HomeDir, "/dev/shm"} {
				if _, err := shell(ctx, a, "echo mine >"+p+"/of-a"); err != nil {
					return err
				}
			}
			return expect(ctx, b, "ls /workspace/*/of-a /tmp/of-a /dev/shm/of-a 2>/dev/null || echo nothing", "nothing")
		})
	})
}

func allowList(ctx context.Context, h *Harness) error {
	spec := sandbox.Spec{Network: sandbox.Network{Allow: []string{"allowed.invalid"}}}
	return h.with(ctx, spec, func(sb sandbox.Sandbox) error {
		out, err := shell(ctx, sb, `echo "${HTTPS_PROXY:+set}${https_proxy:+set}${HTTP_PROXY:+set}${http_proxy:+set}"
p=${HTTP_PROXY#http://}; exec 3<>/dev/tcp/${p%:*}/${p#*:}
printf 'CONNECT forbidden.invalid:443 HTTP/1.1\r\nHost: forbidden.invalid:443\r\n\r\n' >&3; head -1 <&3`)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(out, "setsetsetset\n") || !strings.Contains(out, " 403 ") {
			return fmt.Errorf("a host that is not allowed: %q", out)
		}
		if r, ok := sb.(sandbox.Refuser); ok && !slices.Contains(r.Refused(), "forbidden.invalid") {
			return fmt.Errorf("refused hosts %q do not name it", r.Refused())
		}
		return nil
	})
}
