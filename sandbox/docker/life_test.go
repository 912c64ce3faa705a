package docker_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/docker"
)

// beating starts a command that lasts, and returns when it runs.
func beating(t *testing.T, sb sandbox.Sandbox) <-chan error {
	t.Helper()
	up, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := sb.Exec(context.WithoutCancel(t.Context()), sandbox.Command{Shell: "echo up; sleep 600", Stdout: first(up)})
		ended <- err
	}()
	select {
	case <-up:
	case err := <-ended:
		t.Fatalf("ended early: %v", err)
	}
	return ended
}

// first closes a channel at the first write.
type first chan struct{}

func (f first) Write(p []byte) (int, error) {
	select {
	case <-f:
	default:
		close(f)
	}
	return len(p), nil
}

// TestCheckHasATimeToLive: what doctor opens ends by itself, wherever doctor dies.
func TestCheckHasATimeToLive(t *testing.T) {
	t.Parallel()
	book := newBook(t)
	d := driver(t, config(t), book)
	made := make(client.Filters).Add("type", "container").Add("event", "create").Add("label", "yudai.deployment="+book.Deployment())
	began := strconv.FormatInt(time.Now().Unix(), 10)
	if err := d.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := api(t, engine).Events(t.Context(), client.EventsListOptions{Since: began, Filters: made})
	for {
		select {
		case e := <-events.Messages:
			if !strings.HasPrefix(e.Actor.Attributes["yudai.name"], "check-") {
				continue
			}
			if e.Actor.Attributes["yudai.deadline"] == "" {
				t.Error("it would run for ever")
			}
			return
		case err := <-events.Err:
			t.Fatal(err)
		}
	}
}

// TestKilledContainerIsGone: whoever ends a container from outside, its command ends with
// ErrGone, and the name is free again.
func TestKilledContainerIsGone(t *testing.T) {
	t.Parallel()
	d := setup(t)
	for name, end := range map[string]func(cli *client.Client) error{
		"killed": func(cli *client.Client) error {
			_, err := cli.ContainerKill(t.Context(), d.ContainerName("killed"), client.ContainerKillOptions{Signal: "KILL"})
			return err
		},
		"removed": func(cli *client.Client) error {
			_, err := cli.ContainerRemove(t.Context(), d.ContainerName("removed"), client.ContainerRemoveOptions{Force: true})
			return err
		},
	} {
		sb := open(t, d, sandbox.Spec{Name: name})
		ended := beating(t, sb)
		if err := end(api(t, engine)); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("%s: the command ended with %v", name, err)
		}
		if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"}); !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("%s: the next command: %v", name, err)
		}
		again := open(t, d, sandbox.Spec{Name: name})
		if err := sb.Close(t.Context()); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
		output(t, again, "echo alive")
	}
}

// TestTimeToLive: the engine ends a sandbox whose time is over, without us.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	c, book := config(t), newBook(t)
	d := driver(t, c, book)
	sb := open(t, d, sandbox.Spec{Name: "short", TTL: 3 * time.Second})
	if got := inspect(t, d, "short").Config.Labels["yudai.deadline"]; got == "" {
		t.Error("no label tells the deadline")
	}
	wait := api(t, engine).ContainerWait(t.Context(), d.ContainerName("short"), client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-wait.Result:
	case err := <-wait.Error:
		t.Fatal(err)
	}
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("exec after the end: %v", err)
	}
	if _, err := driver(t, c, book).Attach(t.Context(), "short"); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("attach after the end: %v", err)
	}
	if n := left(t.Context(), t, engine, book.Deployment()); n != 0 {
		t.Errorf("%d things are left of what ended by itself", n)
	}
}

// TestNextProcessGoesOn: another process with the same records finds the sandbox,
// its files and its base, and the old process's command ends.
func TestNextProcessGoesOn(t *testing.T) {
	t.Parallel()
	c, book := config(t), newBook(t)
	old := driver(t, c, book)
	base, err := old.Freeze(t.Context(), open(t, old, sandbox.Spec{Name: "base"}))
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"run": "7"}
	ended := beating(t, open(t, old, sandbox.Spec{Name: "run", From: base, Labels: labels}))
	next := driver(t, c, book)
	if !next.HasBase(t.Context(), base) {
		t.Error("the base is not found")
	}
	sb, err := next.Attach(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the old owner's command ended well")
	}
	if got := output(t, sb, "ls /workspace; cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sleep 60[0]' || true"); got != "home\nkeep\nrepo\n0" {
		t.Errorf("after the attach: %q", got)
	}
	var infos []sandbox.Info
	if _, err := next.Sweep(t.Context(), func(i sandbox.Info) bool { infos = append(infos, i); return true }); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(infos, func(i sandbox.Info) bool {
		return i.Name == "run" && !i.Base && i.Labels["run"] == "7" && time.Since(i.Created) < time.Hour
	}) ||
		!slices.ContainsFunc(infos, func(i sandbox.Info) bool { return i.Name == "base" && i.Base && i.Labels["run"] == "" }) {
		t.Errorf("swept over %+v", infos)
	}
}

// TestFreezeIsOfTheLastState: where a process died between the commit and the end of the
// container, the sandbox is there, goes on, and is what the base holds in the end.
func TestFreezeIsOfTheLastState(t *testing.T) {
	t.Parallel()
	c, book := config(t), newBook(t)
	d := driver(t, c, book)
	sb := open(t, d, sandbox.Spec{Name: "half"})
	output(t, sb, "echo one >/workspace/repo/f")
	cli := api(t, engine)
	if _, err := cli.ContainerCommit(t.Context(), d.ContainerName("half"), client.ContainerCommitOptions{Reference: d.BaseName("half")}); err != nil {
		t.Fatal(err)
	}
	if _, err := cli.ContainerPause(t.Context(), d.ContainerName("half"), client.ContainerPauseOptions{}); err != nil {
		t.Fatal(err)
	}
	next := driver(t, c, book)
	if !next.HasBase(t.Context(), "half") {
		t.Error("what was committed is no base")
	}
	again, err := next.Attach(t.Context(), "half")
	if err != nil {
		t.Fatal(err)
	}
	output(t, again, "echo two >/workspace/repo/f")
	if _, err := next.Freeze(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	fork := open(t, next, sandbox.Spec{Name: "fork", From: "half"})
	if got := output(t, fork, "cat /workspace/repo/f"); got != "two" {
		t.Errorf("the fork reads %q", got)
	}
	if n := left(t.Context(), t, engine, book.Deployment()); n != 2 {
		t.Errorf("%d things, want the base and the fork", n)
	}
}

// TestLostBase: a base whose image somebody removed is missing, and says so.
func TestLostBase(t *testing.T) {
	t.Parallel()
	d := setup(t)
	base, err := d.Freeze(t.Context(), open(t, d, sandbox.Spec{Name: "lost"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api(t, engine).ImageRemove(t.Context(), d.BaseName(base), client.ImageRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if d.HasBase(t.Context(), base) {
		t.Error("the base is there")
	}
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "fork", From: base}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("open from it: %v", err)
	}
	if err := d.Thaw(t.Context(), base); err != nil {
		t.Errorf("thaw: %v", err)
	}
}

// TestSweepLeavesOthersAlone: neither another deployment's, nor what somebody made of ours.
func TestSweepLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	c := config(t)
	other, own := driver(t, c, newBook(t)), driver(t, c, newBook(t))
	others := open(t, other, sandbox.Spec{Name: "same"})
	base, err := own.Freeze(t.Context(), open(t, own, sandbox.Spec{Name: "same"}))
	if err != nil {
		t.Fatal(err)
	}
	cli := api(t, engine)
	foreign, err := cli.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: "somebody-" + own.ContainerName("x"), Config: &container.Config{Image: own.BaseName(base), Cmd: []string{"true"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = cli.ContainerRemove(context.Background(), foreign.ID, client.ContainerRemoveOptions{Force: true})
	})
	gone, err := own.Sweep(t.Context(), func(i sandbox.Info) bool { return i.Base })
	if err != nil || len(gone) > 0 {
		t.Errorf("swept %q, %v", gone, err)
	}
	if _, err := cli.ContainerInspect(t.Context(), foreign.ID, client.ContainerInspectOptions{}); err != nil {
		t.Errorf("somebody's container: %v", err)
	}
	output(t, others, "echo alive")
}

var _ sandbox.Forker = (*docker.Driver)(nil)

// TestLateLoserLeavesTheSandbox: a handle whose sandbox another process has taken
// over neither removes nor freezes it.
func TestLateLoserLeavesTheSandbox(t *testing.T) {
	t.Parallel()
	c, book := config(t), newBook(t)
	old := driver(t, c, book)
	late := open(t, old, sandbox.Spec{Name: "taken"})
	sb, err := driver(t, c, book).Attach(t.Context(), "taken")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Freeze(t.Context(), late); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the late one froze it: %v", err)
	}
	if err := late.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := output(t, sb, "echo here"); got != "here" {
		t.Errorf("after the late one's end: %q", got)
	}
	if err := sb.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := old.Attach(t.Context(), "taken"); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("after the owner's end: %v, want ErrGone", err)
	}
}
