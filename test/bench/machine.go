package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine describes where it was measured, in a sentence.
func machine(dir string) string {
	var u unix.Utsname
	kernel := "unknown kernel"
	if unix.Uname(&u) == nil {
		release, _, _ := strings.Cut(unix.ByteSliceToString(u.Release[:]), "-") // without the distribution's suffix
		kernel = "Linux " + release
	}
	load := "?"
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(data), " ")
	}
	return fmt.Sprintf("Measured on %s, %d cores (%s), %s of memory, %s, %s, %s, load %s at the start.",
		time.Now().Format("2 January 2006"), runtime.NumCPU(), field("/proc/cpuinfo", "model name"), memory(), fileSystem(dir), kernel, goVersion(), load)
}

func goVersion() string { return "Go " + strings.TrimPrefix(runtime.Version(), "go") }

// field is the first value under a name in a file of lines "name: value".
func field(path, name string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func memory() string {
	kib := 0.0
	if _, err := fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%f kB", &kib); err != nil {
		return "an unknown amount"
	}
	return fmt.Sprintf("%.0f GB", kib/(1<<20))
}

// fileSystem names what the directory lies on. On a tmpfs nothing is ever
// synced, and the rows of the store mean little.
func fileSystem(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "unknown file system"
	}
	names := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	}
	if name, ok := names[int64(st.Type)]; ok { //nolint:unconvert // the field's type differs between machines
		return name
	}
	return fmt.Sprintf("file system %#x", st.Type)
}

// status is a size of a process out of its /proc status, in MB.
func status(pid int, name string) (float64, error) {
	text := field(fmt.Sprintf("/proc/%d/status", pid), name)
	kib := 0.0
	if _, err := fmt.Sscanf(text, "%f kB", &kib); err != nil {
		return 0, fmt.Errorf("read %s of process %d: %q", name, pid, text)
	}
	return kib * 1024 / 1e6, nil
}
