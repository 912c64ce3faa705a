package docker_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/docker"
)

// output runs a text that must succeed.
func output(t *testing.T, sb sandbox.Sandbox, text string) string {
	t.Helper()
	out, res, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: text, Dir: "/"})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%s: %+v, %v: %s", text, res, err, out)
	}
	return strings.TrimSpace(out)
}

// open opens a sandbox that is closed at the end.
func open(t *testing.T, d *docker.Driver, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	sb, err := d.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close(t.Context()) })
	return sb
}

// TestOnlyWorkspaceAndTmpCanBeWritten looks from inside, by asking the kernel and
// by trying: the image has directories that everybody may write.
func TestOnlyWorkspaceAndTmpCanBeWritten(t *testing.T) {
	t.Parallel()
	d := setup(t)
	sb := open(t, d, sandbox.Spec{Name: "walls"})
	mounts := map[string]bool{} // read-only?
	for line := range strings.Lines(output(t, sb, "cat /proc/self/mountinfo")) {
		f := strings.Fields(line)
		mounts[f[4]] = slices.Contains(strings.Split(f[5], ","), "ro")
	}
	for line := range strings.Lines(output(t, sb, `cd /; for f in * .[!.]*; do [ -e "$f" ] && [ ! -L "$f" ] && echo "/$f"; done`)) {
		f := strings.TrimSpace(line)
		if writable := f == "/workspace" || f == "/tmp"; slices.Contains([]string{"/proc", "/dev"}, f) {
			continue // the kernel's; what is dangerous there is below
		} else if ro, mounted := mounts[f]; writable && mounted || !writable && !ro {
			t.Errorf("%s is a mount of its own: %v, read-only: %v", f, mounted, ro)
		}
	}
	for _, p := range []string{"/proc/sys", "/proc/bus", "/proc/irq", "/sys"} {
		if !mounts[p] {
			t.Errorf("%s can be written", p)
		}
	}
	got := output(t, sb, `for d in / /srv /var/tmp /etc /usr /root /run /home /opt /workspace /tmp; do (: >"$d/x") 2>/dev/null && echo "$d"; done; true`)
	if got != "/workspace\n/tmp" {
		t.Errorf("can be written: %q", got)
	}
	// A fork has the same walls.
	base, err := d.Freeze(t.Context(), sb)
	if err != nil {
		t.Fatal(err)
	}
	fork := open(t, d, sandbox.Spec{Name: "walls-fork", From: base})
	if got := output(t, fork, `ls /workspace/x /tmp/x; (: >/srv/x) 2>/dev/null && echo srv; (: >/var/tmp/x) 2>/dev/null && echo var; true`); got != "/tmp/x\n/workspace/x" {
		t.Errorf("in a fork: %q", got)
	}
}

// TestLimitsAreTheEngines reads what holds a sandbox in from the engine.
func TestLimitsAreTheEngines(t *testing.T) {
	t.Parallel()
	d := setup(t)
	sb := open(t, d, sandbox.Spec{Name: "held", Labels: map[string]string{"solve": "s1"}, Limits: sandbox.Limits{Memory: 100 << 20, CPUs: 0.5, Processes: 77}})
	c := inspect(t, d, "held")
	h := c.HostConfig
	if h.Memory != 100<<20 || h.MemorySwap != 100<<20 || h.NanoCPUs != 5e8 || h.PidsLimit == nil || *h.PidsLimit != 77 || h.Privileged ||
		h.NetworkMode != "none" || h.IpcMode != "private" || !slices.Equal(h.CapDrop, []string{"ALL"}) || len(h.CapAdd) > 0 || len(h.Mounts) > 0 || len(h.Binds) > 0 {
		t.Errorf("host config %+v", h)
	}
	if c.Config.User != "1000:1000" || c.Config.Labels["yudai.label.solve"] != "s1" || c.Config.Labels["yudai.name"] != "held" {
		t.Errorf("config %+v", c.Config)
	}
	if got := output(t, sb, "id -u; id -g; id -G; ulimit -c"); got != "1000\n1000\n1000\n0" {
		t.Errorf("identity %q", got)
	}
	if p := sb.(sandbox.Placed).Place(); p.Driver != "docker" || p.ID != c.ID {
		t.Errorf("place %+v", p)
	}
}
