package local_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/localtest"
)

// TestRestartEndsEverything: what killed its supervisor, what was launched and what runs beside
// are gone, the files stay, and commands run as before.
func TestRestartEndsEverything(t *testing.T) {
	t.Parallel()
	sb := localtest.Open(t, sandbox.Spec{Name: "restarts", Launch: true})
	const endless = "trap '' TERM HUP INT; while :; do echo x >> /tmp/beat; sleep 0.02; done"
	if err := sb.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: "exec -a launched bash -c '" + strings.ReplaceAll(endless, "'", `'\''`) + "'"}); err != nil {
		t.Fatal(err)
	}
	const escape = "(" + endless + ") </dev/null >/dev/null 2>&1 & echo kept > /workspace/repo/file; kill -9 $PPID; sleep 60"
	_, _, _ = sandbox.Output(t.Context(), sb, sandbox.Command{Shell: escape, Dir: "/"}) // whatever it looks like
	beside := make(chan error, 1)
	running := make(chan struct{})
	go func() {
		_, err := sb.Exec(t.Context(), sandbox.Command{Shell: "echo up; sleep 300", Stdout: signal{running}})
		beside <- err
	}()
	<-running
	if err := sb.(sandbox.Restarter).Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-beside; err == nil {
		t.Error("a command that ran beside ended well")
	}
	out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{Dir: "/", Shell: `
		cat /workspace/repo/file; a=$(wc -c < /tmp/beat); sleep 0.3; test $a = $(wc -c < /tmp/beat) && echo silent; ls -d /proc/[0-9]* | wc -l`})
	if err != nil || res.ExitCode != 0 || !strings.HasPrefix(out, "kept\nsilent\n") {
		t.Errorf("%v, exit %d: %q", err, res.ExitCode, out)
	}
	if runs, err := sb.(sandbox.Launcher).Launched(t.Context()); runs || err != nil {
		t.Errorf("what was launched runs: %v, %v", runs, err)
	}
}

// signal closes a channel when something is written.
type signal struct{ seen chan struct{} }

func (s signal) Write(p []byte) (int, error) {
	select {
	case <-s.seen:
	default:
		close(s.seen)
	}
	return len(p), nil
}
