package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox"
)

// bubblewrap is the program as it is installed here.
type bubblewrap struct {
	path  string // empty: not installed
	newer bool   // 0.8 or later: --disable-userns and --size
}

func findBubblewrap() bubblewrap {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return bubblewrap{}
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--help")
	cmd.Env = askingEnv()
	out, _ := cmd.CombinedOutput()
	help := string(out)
	return bubblewrap{path: path, newer: strings.Contains(help, "--disable-userns") && strings.Contains(help, "--size")}
}

// askingEnv is the environment of programs that are asked about themselves: what tells where they
// and their versions are, and none of yudai's secrets.
func askingEnv(more ...string) []string {
	for _, name := range []string{
		"PATH", "HOME", "LANG", "GOROOT", "JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYENV_ROOT", "NVM_DIR", "VOLTA_HOME",
		"ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "LD_LIBRARY_PATH",
	} {
		if value, ok := os.LookupEnv(name); ok {
			more = append(more, name+"="+value)
		}
	}
	return more
}

// facts are what was found out about this machine, once.
type facts struct {
	grouped bool
	group   error // why not
	overlay bool
	refused error // why not
}

// facts tries what can only be known by trying.
func (d *Driver) facts() facts {
	d.probe.Do(func() {
		d.known.group = d.tryGroup()
		d.known.grouped = d.known.group == nil
		if d.config.Fork == forkCopy {
			d.known.refused = errors.New("sandbox.local.fork is copy")
			return
		}
		d.known.refused = d.tryOverlay()
		d.known.overlay = d.known.refused == nil
	})
	return d.known
}

func (d *Driver) tryGroup() error {
	g, err := newGroup(d.groupName(record{Name: "probe", ID: rand.Text()}), d.config.Limits.Fill(sandbox.Limits{}))
	if err != nil {
		return err
	}
	return g.remove()
}

// tryOverlay mounts one, with a helper as every sandbox has it.
func (d *Driver) tryOverlay() error {
	if d.bwrap.path == "" {
		return errors.New("bubblewrap is not installed")
	}
	making := make([]string, 2)
	for i := range making {
		dir, err := d.state.make(record{Name: "probe", Boot: d.state.boot})
		if err != nil {
			return err
		}
		defer func() { _ = removeTree(dir) }()
		making[i] = dir
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var files []*os.File
	defer func() { closeAll(files...) }()
	c := setup{Marker: d.state.marker("probe"), Lower: []string{"base0"}, Overlay: true}
	c.Sources = []source{
		hostSource(boxName, making[0], true, false, &files),
		hostSource("base0", making[1], true, false, &files),
	}
	h, _, err := startHelper(ctx, d.state.uid, c, files)
	if err != nil {
		return err
	}
	h.close()
	return nil
}

// ready says whether sandboxes may be opened at all.
func (d *Driver) ready() error {
	if d.bwrap.path == "" {
		return fmt.Errorf("%w: bubblewrap is not installed: apt-get install bubblewrap (or dnf, pacman, apk add bubblewrap)",
			sandbox.ErrUnavailable)
	}
	f := d.facts()
	if !f.grouped && !d.config.AllowUnlimited {
		return fmt.Errorf("%w: memory, processes and processor time of a sandbox cannot be limited here (%w): run yudai as a service of root, "+
			"or set sandbox.local.allow_unlimited: true to accept weaker limits", sandbox.ErrLimit, f.group)
	}
	if !f.overlay && d.config.Fork == forkOverlay {
		return fmt.Errorf("%w: overlays do not work here (%w): put sandbox.local.dir on another file system, or set sandbox.local.fork: auto",
			sandbox.ErrUnavailable, f.refused)
	}
	return nil
}

// Traits says what holds on this machine.
func (d *Driver) Traits() sandbox.Traits {
	f := d.facts()
	t := sandbox.Traits{
		Name:      "local",
		Isolation: "bubblewrap: namespaces, unprivileged uid, no capabilities, system call filter, allow-listed root",
		Fork:      true, ForkHow: "overlay", Network: true, Proxy: true, Socket: true, Launch: true, Attach: true, BackgroundDies: true,
		MemoryLimit: f.grouped, CPULimit: f.grouped, ProcessLimit: true, DiskLimit: true, MemoryKey: "sandbox.local.limits.memory_mib",
		Limits: "memory, processor time and processes by control groups; disk by a watcher of ours",
		Start:  "milliseconds",
		Cost:   d.cost(),
	}
	if !f.overlay {
		t.ForkHow = "copy"
		t.Notes = append(t.Notes, fmt.Sprintf("forks are copies, which is slow: no overlay (%v)", f.refused))
	}
	if !f.grouped {
		t.Notes = append(t.Notes, fmt.Sprintf(
			"no control groups (%v): weaker means limit memory of each process and the number of processes, nothing limits processor time", f.group))
	}
	return t
}

// cost says what an hour is set to cost.
func (d *Driver) cost() string {
	if d.config.USDPerHour == 0 {
		return "nothing but this machine"
	}
	return fmt.Sprintf("$%g for an hour, as configured", d.config.USDPerHour)
}

// Check runs a real sandbox, with network namespace and fork, and translates
// what goes wrong. Reading settings would tell less.
func (d *Driver) Check(ctx context.Context) error {
	if err := d.ready(); err != nil {
		if errors.Is(err, sandbox.ErrUnavailable) {
			return err
		}
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	if err := d.tryOut(ctx); err != nil {
		if errors.Is(err, sandbox.ErrUnavailable) {
			return err
		}
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return nil
}

// tryOut opens a sandbox and looks at its network.
func (d *Driver) tryOut(ctx context.Context) error {
	name := fmt.Sprintf("check-%d-%d", os.Getpid(), time.Now().UnixNano())
	sb, err := d.Open(ctx, sandbox.Spec{Name: name})
	if err != nil {
		return err
	}
	defer func() { _ = sb.Close(ctx) }()
	out, res, err := sandbox.Output(ctx, sb, sandbox.Command{
		Shell: `[ "$(id -u)" = ` + insideID + ` ] && ! grep -qv '^ *lo:' <(tail -n +3 /proc/net/dev) && echo inside`,
	})
	if err != nil {
		return d.explain(err)
	}
	if res.ExitCode != 0 || strings.TrimSpace(out) != "inside" {
		return d.explain(fmt.Errorf("a test command ended with exit %d: %s", res.ExitCode, strings.TrimSpace(out)))
	}
	return nil
}

// explain adds the cause and the fix to an error of starting a sandbox, for the
// hosts where that is known to fail.
func (d *Driver) explain(err error) error {
	fix := ""
	switch text := err.Error(); {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case kernelSetting("/proc/sys/user/max_user_namespaces") == "0":
		fix = "user namespaces are switched off: sysctl user.max_user_namespaces=10000"
	case kernelSetting("/proc/sys/kernel/unprivileged_userns_clone") == "0" && d.state.uid < 0:
		fix = "user namespaces are switched off for users: sysctl kernel.unprivileged_userns_clone=1, or run yudai as a service of root"
	case kernelSetting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" && d.state.uid < 0:
		fix = "AppArmor refuses user namespaces: install a profile that allows userns for yudai's path, or run yudai as a service of root"
	case inContainer() && refusedByKernel(text):
		fix = "in a container: start it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined " +
			"and sandbox.local.dir on a volume, or choose another driver"
	case strings.Contains(text, "fork/exec") && strings.Contains(text, "permission denied") && d.state.uid >= 0:
		fix = "make the yudai program executable by everyone (chmod 755)"
	case strings.Contains(text, "mount overlay") && strings.Contains(text, unix.EINVAL.Error()):
		fix = "sandbox.local.dir must not lie on an overlay: put it on a volume or another file system"
	}
	if fix == "" {
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %s (%w)", sandbox.ErrUnavailable, fix, err)
}

// refusedByKernel reports whether an error looks like what a container's own
// confinement answers.
func refusedByKernel(text string) bool {
	for _, s := range []string{"operation not permitted", "Operation not permitted", "permission denied", "Permission denied", "/proc"} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// kernelSetting reads a kernel setting; empty if there is none.
func kernelSetting(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// inContainer reports the usual signs of a container.
func inContainer() bool {
	for _, f := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(f); err == nil {
			return true
		}
	}
	return false
}
