package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hostBin is where the host's /usr/bin is seen in a machine that hides programs.
const hostBin = "/.bin"

// etc are the files of /etc that differ from the host's.
var etc = map[string]string{
	"passwd":        "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/home/user:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
	"group":         "root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n",
	"hosts":         "127.0.0.1 localhost\n::1 localhost\n",
	"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	"resolv.conf":   "",
}

// prepare makes the writable files, unless they are there already.
func prepare(o Options) error {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	if len(o.Hide) > 0 {
		if err := hide(o); err != nil {
			return err
		}
	}
	root := filepath.Join(o.Dir, "root")
	if _, err := os.Stat(root); err != nil {
		if err := firstFiles(o, root); err != nil {
			return err
		}
	}
	return writeHosts(o, root)
}

// firstFiles makes the root directory of a machine that has none.
func firstFiles(o Options, root string) error {
	if o.From != "" {
		return copyFiles(o.From, root, false)
	}
	return skeleton(o, root)
}

// skeleton makes the root directory of a new machine.
func skeleton(o Options, root string) error {
	for _, dir := range []string{"", "etc", "home", "home/user", "root", "tmp", "var", "var/tmp", "run", "opt", "mnt", "usr", "dev", "proc"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	for _, dir := range []string{"tmp", "var/tmp"} {
		if err := os.Chmod(filepath.Join(root, dir), 0o777|os.ModeSticky); err != nil {
			return err
		}
	}
	for name, text := range etc {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(root, "etc/hostname"), []byte(o.Hostname+"\n"), 0o644); err != nil {
		return err
	}
	for _, name := range []string{"ld.so.cache", "ld.so.conf", "services", "protocols"} {
		if data, err := os.ReadFile("/etc/" + name); err == nil {
			if err := os.WriteFile(filepath.Join(root, "etc", name), data, 0o644); err != nil {
				return err
			}
		}
	}
	for _, link := range topLinks() {
		if err := os.Symlink("usr/"+link, filepath.Join(root, link)); err != nil {
			return err
		}
	}
	return os.Chown(filepath.Join(root, "home/user"), 1000, 1000)
}

// topLinks are the names in / that are links into /usr on the host.
func topLinks() []string {
	return slices.DeleteFunc([]string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}, func(name string) bool {
		target, err := os.Readlink("/" + name)
		return err != nil || strings.TrimPrefix(target, "/") != "usr/"+name
	})
}

// bubblewrap returns its arguments: the first process is a shell that reaps
// orphans and ends when its input does, that is with the process that started it.
func (o Options) bubblewrap() []string {
	args := []string{"--info-fd", "3", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--hostname", o.Hostname,
		"--as-pid-1", "--cap-drop", "ALL", "--clearenv"}
	root := filepath.Join(o.Dir, "root")
	if o.DiskBytes > 0 {
		args = append(args, "--perms", "0755", "--size", strconv.FormatInt(o.DiskBytes, 10), "--tmpfs", "/")
		for _, link := range topLinks() {
			args = append(args, "--symlink", "usr/"+link, "/"+link)
		}
	} else {
		args = append(args, "--bind", root, "/")
	}
	args = append(args, "--ro-bind", "/usr", "/usr", "--tmpfs", "/usr/local")
	if _, err := os.Stat("/usr/local/go"); err == nil {
		args = append(args, "--ro-bind", "/usr/local/go", "/usr/local/go")
	}
	args = append(args, "--remount-ro", "/usr/local")
	shell := "/usr/bin/bash"
	if len(o.Hide) > 0 {
		shell = hostBin + "/bash"
		args = append(args, "--ro-bind", "/usr/bin", hostBin, "--ro-bind", filepath.Join(o.Dir, "bin"), "/usr/bin")
	}
	for _, dir := range []string{"/etc/alternatives", "/etc/ssl"} {
		if _, err := os.Stat(dir); err == nil {
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	// Root may write the kernel's settings whatever its rights are: bubblewrap sees that
	// it needs none of them, and leaves the directory as it is.
	// The kernel's counters are of all machines here: what another one's memory did is none of this one's.
	args = append(args, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--ro-bind", "/dev/null", "/proc/vmstat")
	return append(args, "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm", "--chdir", "/",
		shell, "-c", "echo up; exec >/dev/null 2>&1; while read -r line; do :; done")
}

// fill copies the first files onto a bounded disk, and takes them from the host's.
func (m *Machine) fill() error {
	root := filepath.Join(m.o.Dir, "root")
	for _, mount := range []string{"usr", "dev", "proc", hostBin, "etc/alternatives", "etc/ssl"} { // those are mounts there
		if err := os.Remove(filepath.Join(root, mount)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := copyFiles(root, m.seen(), true); err != nil {
		return err
	}
	return os.RemoveAll(root)
}

// seen is a path of the host that leads to the root directory as processes see it.
func (m *Machine) seen() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.root.Fd()) }

// Save writes the files of the running machine to a new directory, for
// Options.From. What commands write meanwhile may be there or not.
func (m *Machine) Save(dir string) error {
	if m.o.DiskBytes > 0 {
		return copyFiles(m.seen(), dir, false)
	}
	return copyFiles(filepath.Join(m.o.Dir, "root"), dir, false)
}

// copyFiles copies a tree of one file system with everything but what is removed
// meanwhile.
func copyFiles(from, to string, into bool) error {
	args := []string{"-ax", "--reflink=auto"}
	if into { // a link of the kernel's, which must be followed
		to += "/."
	} else if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	c := exec.CommandContext(context.Background(), "cp", append(args, from+"/.", to)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	out, err := c.CombinedOutput()
	if err == nil {
		return nil
	}
	for line := range bytes.Lines(out) {
		if !bytes.Contains(line, []byte("No such file or directory")) {
			return fmt.Errorf("copy the files of a machine: %w: %s", err, bytes.TrimSpace(line))
		}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(out) > 0 {
		return nil // only what was removed meanwhile is missing
	}
	return fmt.Errorf("copy the files of a machine: %w", err)
}

// hide makes the directory that stands for /usr/bin: links to all but some programs.
func hide(o Options) error {
	bin := filepath.Join(o.Dir, "bin")
	if err := os.RemoveAll(bin); err != nil {
		return err
	}
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir("/usr/bin")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if slices.Contains(o.Hide, e.Name()) {
			continue
		}
		if err := os.Symlink(hostBin+"/"+e.Name(), filepath.Join(bin, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
