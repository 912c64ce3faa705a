package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
)

func TestDefaultConfigIsValid(t *testing.T) {
	t.Parallel()
	local.DefaultConfig().Validate(func(key, problem string) { t.Errorf("%s: %s", key, problem) })
}

func TestValidateReportsEveryKey(t *testing.T) {
	t.Parallel()
	c := local.Config{
		UID: 0, Fork: "clone", FreeDiskMiB: -1, GoRoot: "go", AllowPrivate: []string{"10.0.0.1"},
		Toolchains: []string{"rust", "cobol"},
		ExtraRO:    []string{"/opt/fine", "/opt/fine:/opt/else", "relative", "/", "/tmp/x", "/x:/workspace/y", "/a/../b", "/etc/shadow"},
	}
	var got []string
	c.Validate(func(key, _ string) { got = append(got, key) })
	want := []string{
		"dir", "uid", "fork", "free_disk_mib", "go_root", "toolchains.1", "extra_ro.2", "extra_ro.3", "extra_ro.4", "extra_ro.5", "extra_ro.6", "extra_ro.7",
		"allow_private.0", "limits.memory_mib", "limits.cpus", "limits.processes", "limits.disk_mib",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	c.Dir = t.TempDir()
	if _, err := local.New(c, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "sandbox.local.limits.cpus") {
		t.Errorf("New: %v, want the keys", err)
	}
}

// TestNoBubblewrap: the message names the package, and nothing runs without walls.
func TestNoBubblewrap(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	d, err := local.New(config(t), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"check": d.Check(t.Context()),
		"open": func() error {
			_, err := d.Open(t.Context(), sandbox.Spec{Name: "a"})
			return err
		}(),
	} {
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestUnlimitedMustBeAllowed: without control groups sandboxes are refused,
// with a message that names the setting, unless the operator accepts it.
func TestUnlimitedMustBeAllowed(t *testing.T) {
	t.Parallel()
	d := setup(t, func(c *local.Config) { c.AllowUnlimited = false })
	_, err := d.Open(t.Context(), sandbox.Spec{Name: "a"})
	if traits := d.Traits(); traits.MemoryLimit {
		if err != nil {
			t.Errorf("with control groups: %v", err)
		}
		return
	}
	if !errors.Is(err, sandbox.ErrLimit) || !strings.Contains(err.Error(), "sandbox.local.allow_unlimited") {
		t.Errorf("without control groups: %v", err)
	}
	if err := d.Check(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("check: %v", err)
	}
	if notes := setup(t).Traits().Notes; len(notes) == 0 || !strings.Contains(strings.Join(notes, " "), "control groups") {
		t.Errorf("notes %q do not warn", notes)
	}
}

// TestExtraAndGoRoot: the operator's directories are visible, read-only, at the
// place asked for, and a Go installation from anywhere is in PATH.
func TestExtraAndGoRoot(t *testing.T) {
	t.Parallel()
	extra, goRoot := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(extra, "tool"), []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(goRoot, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(goRoot, "bin/go"), []byte("#!/bin/sh\necho my go\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := setup(t, func(c *local.Config) {
		c.ExtraRO, c.GoRoot = []string{extra + ":/opt/tools", filepath.Join(extra, "tool") + ":/srv/one"}, goRoot
	})
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{
		Shell: "cat /opt/tools/tool /srv/one; go; echo $GOTOOLCHAIN; touch /opt/tools/x /opt/go/x 2>/dev/null && echo writable",
	})
	if err != nil || out != "x\nx\nmy go\nlocal\n" {
		t.Errorf("got %q, %+v, %v", out, res, err)
	}
}

// TestOtherBoot: files are not synced, so they are not trusted after a restart of the machine.
func TestOtherBoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := setup(t, func(c *local.Config) { c.Dir = dir })
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "old"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "sandboxes/old/record.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(data), strings.TrimSpace(string(boot)), "earlier")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Attach(t.Context(), "old"); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("attach: %v, want ErrGone", err)
	}
	if gone, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return false }); err != nil || len(gone) != 1 {
		t.Errorf("sweep: %q, %v", gone, err)
	}
}

// TestLoserDoesNoHarm: a handle whose sandbox another driver has attached to can neither
// run commands nor remove the files.
func TestLoserDoesNoHarm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := setup(t, func(c *local.Config) { c.Dir = dir })
	loser, err := one.Open(t.Context(), sandbox.Spec{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	two := setup(t, func(c *local.Config) { c.Dir = dir })
	winner, err := two.Attach(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loser.Exec(t.Context(), sandbox.Command{Shell: "true"}); err == nil {
		t.Error("the loser ran a command")
	}
	if _, err := one.Freeze(t.Context(), loser); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("freeze by the loser: %v, want ErrGone", err)
	}
	if err := loser.Close(t.Context()); err != nil {
		t.Errorf("close by the loser: %v", err)
	}
	if res, err := winner.Exec(t.Context(), sandbox.Command{Shell: "true"}); err != nil || res.ExitCode != 0 {
		t.Errorf("the winner: %+v, %v", res, err)
	}
	if err := winner.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
