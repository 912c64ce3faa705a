package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
)

// second returns another driver of the same directory, as another process has it.
func second(t *testing.T, dir string) *local.Driver {
	t.Helper()
	return setup(t, func(c *local.Config) { c.Dir = dir })
}

// TestLaunchFencesTheOldOwner: an owner that only seemed dead loses the sandbox: its
// command ends, it cannot do anything any more, and its Close harms nobody.
func TestLaunchFencesTheOldOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, err := second(t, dir).Open(t.Context(), sandbox.Spec{Name: "resident", Launch: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := old.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: heart}); err != nil {
		t.Fatal(err)
	}
	up := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := old.Exec(context.Background(), sandbox.Command{
			Shell: "while :; do echo x >>/tmp/other; echo; sleep 0.02; done", Stdout: &once{seen: up},
		})
		ended <- err
	}()
	<-up
	sb, l := attach(t, second(t, dir), "resident")
	rests(t, dir, "resident", "tmp/other")
	if err := <-ended; !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the old owner's command ended with %v", err)
	}
	_, err = old.Exec(t.Context(), sandbox.Command{Shell: "true"})
	for what, err := range map[string]error{
		"exec": err, "halt": old.(sandbox.Launcher).Halt(t.Context()),
		"launch": old.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: "true"}),
	} {
		if !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("%s by the old owner: %v", what, err)
		}
	}
	if err := old.Close(t.Context()); err != nil {
		t.Error(err)
	}
	launched(t, l, true)
	grows(t, dir, "resident", "tmp/beat")
	if res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true"}); err != nil || res.ExitCode != 0 {
		t.Errorf("the new owner: %+v, %v", res, err)
	}
}

// once closes a channel at the first write.
type once struct {
	seen chan struct{}
	do   sync.Once
}

func (o *once) Write(p []byte) (int, error) {
	o.do.Do(func() { close(o.seen) })
	return len(p), nil
}

// TestLaunchRace lets many owners take over at once: one has it in the end, and the
// program never notices.
func TestLaunchRace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sb, err := second(t, dir).Open(t.Context(), sandbox.Spec{Name: "resident", Launch: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := sb.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: heart}); err != nil {
		t.Fatal(err)
	}
	all := []sandbox.Sandbox{sb}
	var mu sync.Mutex
	var racing sync.WaitGroup
	for range 4 {
		d := second(t, dir)
		racing.Go(func() {
			for range 3 {
				sb, err := d.Attach(t.Context(), "resident")
				if err != nil {
					t.Error(err)
					continue
				}
				_, _ = sb.Exec(t.Context(), sandbox.Command{Shell: "true"})
				mu.Lock()
				all = append(all, sb)
				mu.Unlock()
			}
		})
	}
	racing.Wait()
	owners := 0
	for _, sb := range all {
		runs, err := sb.(sandbox.Launcher).Launched(t.Context())
		switch {
		case err == nil && runs:
			owners++
		case !errors.Is(err, sandbox.ErrGone):
			t.Errorf("a handle says %v, %v", runs, err)
		}
	}
	if owners != 1 {
		t.Errorf("%d owners", owners)
	}
	grows(t, dir, "resident", "tmp/beat")
}

// TestLaunchAfterAReboot: the record belongs to another boot, so there is nothing to take
// over, and a sweep removes what is there.
func TestLaunchAfterAReboot(t *testing.T) {
	t.Parallel()
	setup(t)
	dir := t.TempDir()
	killedOwner(t, dir, heart)
	file := filepath.Join(dir, "sandboxes/resident/record.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	data = []byte(strings.ReplaceAll(string(data), strings.TrimSpace(string(boot)), "another"))
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	d := second(t, dir)
	if _, err := d.Attach(t.Context(), "resident"); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("attach: %v", err)
	}
	if gone, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return false }); err != nil || len(gone) != 1 {
		t.Errorf("swept %q, %v", gone, err)
	}
	if left := running(dir, "resident"); len(left) > 0 {
		t.Errorf("after the sweep %d processes run", len(left))
	}
}

// TestLaunchHelperOfAnotherVersion: a helper with which the new yudai cannot speak is ended
// with what it kept, and the sandbox goes on without.
func TestLaunchHelperOfAnotherVersion(t *testing.T) {
	t.Parallel()
	setup(t)
	for name, answer := range map[string]string{
		"it refuses": `{"id":1,"err":"the helper speaks protocol 7, not 2"}`, "it hangs up": "", "it babbles": "\x00\xff",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killedOwner(t, dir, heart)
			pose(t, filepath.Join(dir, "sandboxes/resident"), answer)
			sb, l := attach(t, second(t, dir), "resident")
			launched(t, l, false)
			rests(t, dir, "resident", "tmp/beat")
			if res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "test -s /tmp/beat"}); err != nil || res.ExitCode != 0 {
				t.Errorf("its files: %+v, %v", res, err)
			}
			if err := l.Launch(t.Context(), sandbox.Command{Shell: heart}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLaunchLossIsLogged: what an older yudai launched, whose helper took no calls, ends with
// a word in the log. Where nothing runs any more there is none.
func TestLaunchLossIsLogged(t *testing.T) {
	t.Parallel()
	setup(t)
	for name, c := range map[string]struct {
		program string
		want    bool
	}{"it runs": {heart, true}, "it ended": {"", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := config(t)
			_ = second(t, config.Dir) // sweeps at the end
			killedOwner(t, config.Dir, c.program)
			if err := os.Remove(filepath.Join(config.Dir, "sandboxes/resident/helper.sock")); err != nil {
				t.Fatal(err)
			}
			if !c.want {
				await(t, "no process runs", func() bool { return len(running(config.Dir, "resident")) == 0 })
			}
			var said bytes.Buffer
			d, err := local.New(config, zerolog.New(&said))
			if err != nil {
				t.Fatal(err)
			}
			_, l := attach(t, d, "resident")
			launched(t, l, false)
			if got := strings.Contains(said.String(), `"warn"`); got != c.want {
				t.Errorf("a warning: %v; the log: %s", got, said.String())
			}
		})
	}
}

// pose answers in the place of a helper.
func pose(t *testing.T, dir, answer string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, "helper.sock")); err != nil {
		t.Fatal(err)
	}
	at, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = at.Close() }()
	l, err := net.Listen("unixpacket", fmt.Sprintf("/proc/self/fd/%d/helper.sock", at.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 16))
		if answer != "" {
			_, _ = c.Write([]byte(answer))
		}
		_ = c.Close()
		_ = l.Close()
	}()
}
