package checker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The places where the local driver leaves its traces.
const (
	procRoot   = "/proc"
	cgroupRoot = "/sys/fs/cgroup"
)

// Left names what a sandboxes directory left here: directories, mounts,
// processes, control groups.
func Left(dir string) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find sandboxes directory: %w", err)
	}
	var f findings
	if err := directories(&f, dir); err != nil {
		return nil, err
	}
	if err := mounts(&f, dir); err != nil {
		return nil, err
	}
	if err := processes(&f, dir); err != nil {
		return nil, err
	}
	if err := groups(&f, dir); err != nil {
		return nil, err
	}
	return f, nil
}

// id is the driver's short name of a sandboxes directory, in process and control group names.
func id(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:6])
}

// directories are sandboxes, bases, and halves of them: none may be left.
func directories(f *findings, dir string) error {
	for _, kind := range []string{"sandboxes", "bases", "making", "trash"} {
		list, err := os.ReadDir(filepath.Join(dir, kind))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("list sandboxes: %w", err)
		}
		for _, e := range list {
			f.add("directory %s/%s", kind, e.Name())
		}
	}
	return nil
}

// mounts are those of this process's own namespace; those of others belong to a
// process, which is found by them.
func mounts(f *findings, dir string) error {
	data, err := os.ReadFile(filepath.Join(procRoot, "self", "mountinfo"))
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); names(line, dir) && len(fields) > 4 {
			f.add("mount %s", fields[4])
		}
	}
	return nil
}

// names says whether a line of mountinfo(5) names the directory or what lies
// below it. Blanks are written as octal numbers there.
func names(line, dir string) bool {
	dir = strings.NewReplacer(" ", `\040`, "\t", `\011`).Replace(dir)
	for rest := line; ; {
		_, after, found := strings.Cut(rest, dir)
		if !found {
			return false
		}
		if after == "" || strings.ContainsAny(after[:1], "/ ,:\n") {
			return true
		}
		rest = after
	}
}

// processes are those that carry the driver's mark, stand in the directory, name
// it, or have it mounted. Who judges, and who started the judge, does not count.
func processes(f *findings, dir string) error {
	list, err := os.ReadDir(procRoot)
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	own := ancestors()
	ours, _ := os.Readlink(filepath.Join(procRoot, "self", "ns", "mnt"))
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || own[pid] {
			continue
		}
		if why := belongs(filepath.Join(procRoot, e.Name()), dir, ours); why != "" {
			f.add("process %d %s", pid, why)
		}
	}
	return nil
}

// belongs says why a process is one of the directory's, "" if it is none or gone.
func belongs(proc, dir, ours string) string {
	if data, err := os.ReadFile(filepath.Join(proc, "stat")); err != nil || bytes.Contains(data, []byte(") Z ")) {
		return "" // gone, or waiting for its parent to look
	}
	line, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
	args := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	if strings.Contains(args, "yudai-sandbox:"+id(dir)+":") || strings.Contains(args, dir+"/") {
		return "runs: " + args[:min(len(args), 120)]
	}
	for _, link := range []string{"cwd", "root", "exe"} {
		if to, err := os.Readlink(filepath.Join(proc, link)); err == nil && (to == dir || strings.HasPrefix(to, dir+"/")) {
			return "has its " + link + " in " + to
		}
	}
	if env, err := os.ReadFile(filepath.Join(proc, "environ")); err == nil && bytes.Contains(env, []byte(dir)) {
		return "names the directory in its environment"
	}
	if ns, err := os.Readlink(filepath.Join(proc, "ns", "mnt")); err != nil || ns == ours {
		return ""
	}
	info, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return ""
	}
	for mount := range strings.Lines(string(info)) {
		if names(mount, dir) {
			return "has mounted " + strings.TrimSpace(mount)
		}
	}
	return ""
}

// ancestors are this process and those above it.
func ancestors() map[int]bool {
	out := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !out[pid]; {
		out[pid] = true
		data, err := os.ReadFile(filepath.Join(procRoot, strconv.Itoa(pid), "stat"))
		if err != nil {
			break
		}
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) < 2 {
			break
		}
		pid, _ = strconv.Atoi(fields[1])
	}
	return out
}

// groups are control groups of the directory's sandboxes, in every hierarchy.
func groups(f *findings, dir string) error {
	prefix := "yudai-" + id(dir) + "-"
	err := filepath.WalkDir(cgroupRoot, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission): // groups come and go
			return nil
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), prefix):
			f.add("control group %s", path)
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list control groups: %w", err)
	}
	return nil
}
