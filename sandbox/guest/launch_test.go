package guest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// launcher returns a sandbox that may launch, on a machine of its own.
func launcher(t *testing.T, p *provider, name string) *box {
	t.Helper()
	sb, err := p.Open(t.Context(), sandbox.Spec{Name: name, Launch: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return sb.(*box)
}

// family is a program with descendants that hide in every way there is: each sleeps
// for a number of seconds of its own, from first on.
func family(first int) sandbox.Command {
	return sandbox.Command{Dir: "/tmp", Shell: fmt.Sprintf(`
env -i /usr/bin/sleep %d &
env -i setsid /usr/bin/sleep %d &
(env -i setsid bash -c '/usr/bin/sleep %d & /usr/bin/sleep %d; wait' &)
YUDAI_EXEC=4503599627370497 setsid sleep %d &
YUDAI_EXEC= YUDAI_KEEP= sleep %d &
ulimit -Sx 0
sleep %d & disown
exec sleep %d`, first, first+1, first+2, first+3, first+4, first+5, first+6, first+7)}
}

const relatives = 8

// sleepers counts the processes that sleep for that many seconds, and up to seven more.
func sleepers(t *testing.T, sb sandbox.Sandbox, first int) int {
	t.Helper()
	out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Dir: "/", Shell: fmt.Sprintf(`exec 2>/dev/null; n=0
for f in /proc/[0-9]*/cmdline; do
  mapfile -d '' -t c <"$f"
  [[ ${c[0]} = *sleep ]] && ((${c[1]%%%%.*} >= %d && ${c[1]%%%%.*} < %d)) && ((n++))
done
echo $n`, first, first+relatives)})
	var n int
	if _, scanned := fmt.Sscan(out, &n); err != nil || scanned != nil {
		t.Fatalf("count processes: %q, %v", out, err)
	}
	return n
}

// await polls until so many sleep.
func await(t *testing.T, sb sandbox.Sandbox, first, want int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(30 * time.Second); ; <-tick.C {
		n := sleepers(t, sb, first)
		if n == want {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%d processes run, want %d", n, want)
		}
	}
}

func launch(t *testing.T, sb sandbox.Launcher, c sandbox.Command) {
	t.Helper()
	if err := sb.Launch(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func launched(t *testing.T, sb sandbox.Launcher, want bool) {
	t.Helper()
	if runs, err := sb.Launched(t.Context()); err != nil || runs != want {
		t.Fatalf("Launched: %v, %v; want %v", runs, err, want)
	}
}

// TestLaunchedFamily: whatever a launched program's descendants do to hide, they
// survive the ends of commands, cancelled commands and a new owner, and none survives Halt.
func TestLaunchedFamily(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	sb := launcher(t, p, "family")
	launch(t, sb, family(7000))
	await(t, sb, 7000, relatives)
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "sleep 0.4; sleep 9000 &"}); err != nil { // long enough to be reaped
		t.Fatal(err)
	}
	if res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "sleep 100", Timeout: 200 * time.Millisecond}); err != nil || !res.TimedOut {
		t.Fatal(res, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := sb.Exec(ctx, sandbox.Command{Shell: "sleep 100"}); err == nil {
		t.Fatal("a cancelled command ended by itself")
	}
	await(t, sb, 7000, relatives)
	next, err := p.Attach(t.Context(), "family")
	if err != nil {
		t.Fatal(err)
	}
	await(t, next, 7000, relatives)
	launched(t, next.(*box), true)
	if err := sb.Halt(t.Context()); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the old owner's Halt: %v, want ErrGone", err)
	}
	if err := next.(*box).Launch(t.Context(), family(7100)); err == nil {
		t.Error("a second program was launched")
	}
	if err := next.(*box).Halt(t.Context()); err != nil {
		t.Fatal(err)
	}
	launched(t, next.(*box), false)
	if n := sleepers(t, next, 7000) + sleepers(t, next, 7100); n != 0 {
		t.Errorf("after Halt %d processes run", n)
	}
	launch(t, next.(*box), family(7200))
	await(t, next, 7200, relatives)
}

// TestForgedMarkers: what an ordinary command leaves behind ends with it, whatever it
// says to be.
func TestForgedMarkers(t *testing.T) {
	t.Parallel()
	sb := launcher(t, newProvider(t), "forged")
	launch(t, sb, sandbox.Command{Shell: "exec sleep 8100"})
	_, err := sb.Exec(t.Context(), sandbox.Command{Shell: `
env -i YUDAI_EXEC=+ setsid sleep 8000 &
env -i YUDAI_KEEP=1 setsid sleep 8001 &
env -i YUDAI_EXEC=4503599627370498 setsid sleep 8002 &
env -i setsid bash -c 'ulimit -x 9007199254740992; sleep 8003' &
env -i setsid bash -c 'ulimit -x 17; sleep 8004' &
env -i setsid bash -c 'ulimit -x unlimited; sleep 8005' &
sleep 0.3`})
	if err != nil {
		t.Fatal(err)
	}
	if n := sleepers(t, sb, 8000); n != 0 {
		t.Errorf("%d processes survived their command", n)
	}
	if n := sleepers(t, sb, 8100); n != 1 {
		t.Errorf("%d launched programs run", n)
	}
}

// TestNeighboursLive: a command's end does not touch another command that runs.
func TestNeighboursLive(t *testing.T) {
	t.Parallel()
	sb := open(t, newProvider(t), "neighbours")
	ended := make(chan error, 1)
	go func() {
		res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "until [ -e /tmp/over ]; do env -i /bin/true; done; exit 9"})
		if err == nil && res.ExitCode != 9 {
			err = fmt.Errorf("exit %d", res.ExitCode)
		}
		ended <- err
	}()
	for range 20 {
		if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "sleep 1000 & true"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "touch /tmp/over"}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestLaunchOnce: where the answer is lost the program starts once all the same.
func TestLaunchOnce(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	var cuts atomic.Int64
	p.cut = func(_ context.Context, q guest.Process, _ int) error {
		if len(q.Argv) > 1 && q.Argv[1] == "launch" && cuts.Add(1) <= 2 {
			return guest.ErrCut
		}
		return nil
	}
	sb := launcher(t, p, "once")
	long := strings.Repeat("#", 200_000) // goes through files
	launch(t, sb, sandbox.Command{Shell: "echo run >>/tmp/runs; exec sleep 8200\n" + long, Env: map[string]string{"BIG": long[:100_000], "A@b": "c"}})
	await(t, sb, 8200, 1)
	out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "cat /tmp/runs"})
	if err != nil || out != "run\n" || cuts.Load() < 2 {
		t.Errorf("it ran %q, %v, after %d cuts", out, err, cuts.Load())
	}
}

// TestLaunchCancelled: a Launch that fails leaves nothing behind, at whatever moment.
func TestLaunchCancelled(t *testing.T) {
	t.Parallel()
	sb := launcher(t, newProvider(t), "cancelled")
	for _, after := range []time.Duration{0, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		err := sb.Launch(ctx, family(8300))
		cancel()
		if err == nil {
			err = sb.Halt(t.Context())
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %s: %v", after, err)
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		launched(t, sb, false)
		if n := sleepers(t, sb, 8300); n != 0 {
			t.Errorf("after %s: %d processes run", after, n)
		}
	}
}

// TestLaunchedTimeout: time is up for all of the family, also for those that the
// program left behind, and though its owner is another one by then.
func TestLaunchedTimeout(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	sb := launcher(t, p, "timeout")
	c := family(8400)
	c.Shell, c.Timeout = strings.ReplaceAll(c.Shell, "exec sleep 8407", "exit"), 1500*time.Millisecond
	launch(t, sb, c)
	await(t, sb, 8400, relatives-1)
	next, err := p.Attach(t.Context(), "timeout")
	if err != nil {
		t.Fatal(err)
	}
	await(t, next, 8400, 0)
	awaitOver(t, next.(*box))
	c = sandbox.Command{Shell: "exit 3", Timeout: time.Hour} // nothing is left of one that ends in time
	launch(t, next.(*box), c)
	awaitOver(t, next.(*box))
	await(t, next, 3600, 0)
}

// awaitOver polls until nothing that was launched runs.
func awaitOver(t *testing.T, sb sandbox.Launcher) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(30 * time.Second); ; <-tick.C {
		runs, err := sb.Launched(t.Context())
		if err != nil || time.Now().After(until) {
			t.Fatalf("Launched: %v, %v", runs, err)
		}
		if !runs {
			return
		}
	}
}

// TestLaunchRefused: without Spec.Launch there is nothing to launch with, and a
// program without a directory is over at once.
func TestLaunchRefused(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	plain := open(t, p, "plain").(*box)
	if err := plain.Launch(t.Context(), sandbox.Command{Shell: "true"}); err == nil {
		t.Error("launched in a sandbox that was not opened for it")
	}
	sb := launcher(t, p, "refused")
	if err := sb.Launch(t.Context(), sandbox.Command{}); err == nil {
		t.Error("launched nothing")
	}
	launch(t, sb, sandbox.Command{Shell: "sleep 8500", Dir: "/nowhere"})
	awaitOver(t, sb)
	if err := sb.Halt(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOldOwnersDisk: a handle that lost its sandbox finds it over its disk limit, and
// neither takes it back nor ends what is another's now.
func TestOldOwnersDisk(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	mine := launcher(t, p, "disk")
	var used atomic.Int64
	o := p.options(mine.h.spec, "old")
	o.Disk, o.DiskLimit = func(context.Context) (int64, error) { return used.Load(), nil }, 1
	old, err := guest.Attach(t.Context(), &far{mine.h.m, &mine.h.gone, nil}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer old.End(nil)
	launch(t, old, sandbox.Command{Shell: "exec sleep 8600"})
	next, err := p.Attach(t.Context(), "disk")
	if err != nil {
		t.Fatal(err)
	}
	used.Store(2)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(30 * time.Second); ; <-tick.C {
		if _, err := old.Launched(t.Context()); errors.Is(err, sandbox.ErrDisk) {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the old handle does not see its limit")
		}
	}
	old.End(nil) // waits for what it does about it
	launched(t, next.(*box), true)
}
