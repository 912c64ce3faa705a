package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/cgroups/v3"
	"github.com/containerd/cgroups/v3/cgroup1"
	"golang.org/x/sys/unix"
)

// groupPrefix begins the names of all control groups of this state directory.
func (d *Driver) groupPrefix() string { return "yudai-" + d.state.id() + "-" }

// sweepGroups removes control groups that belong to no sandbox: their owner died
// between removing the sandbox and removing them, or while something in them was
// still ending. They are listed before the records are read, and a record is
// written before its group is made: so the group of a newborn sandbox has one.
func (d *Driver) sweepGroups() error {
	if !d.facts().grouped {
		return nil
	}
	dirs, err := groupDirs(d.groupPrefix())
	if err != nil || len(dirs) == 0 {
		return err
	}
	all, err := d.list()
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, f := range all {
		wanted[d.groupName(f.record)] = f.kind == sandboxesDir
	}
	var problems []error
	for _, dir := range dirs {
		if wanted[filepath.Base(dir)] {
			continue
		}
		err := os.Remove(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EBUSY) { // busy: the next sweep
			problems = append(problems, fmt.Errorf("remove control group: %w", err))
		}
	}
	return errors.Join(problems...)
}

// groupDirs lists the control groups that newGroup made under names with the prefix.
func groupDirs(prefix string) ([]string, error) {
	parents, err := groupParents()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, parent := range parents {
		list, err := os.ReadDir(parent)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list control groups: %w", err)
		}
		for _, e := range list {
			if e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
				out = append(out, filepath.Join(parent, e.Name()))
			}
		}
	}
	return out, nil
}

// groupParents are the directories in which newGroup makes groups.
func groupParents() ([]string, error) {
	if cgroups.Mode() == cgroups.Unified {
		at, err := parent2()
		return []string{filepath.Join(cgroupRoot, at)}, err
	}
	own, err := cgroup1.ParseCgroupFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("read own control groups: %w", err)
	}
	var out []string
	for _, controller := range []cgroup1.Name{cgroup1.Memory, cgroup1.Pids, cgroup1.Cpu} {
		out = append(out, filepath.Join(cgroupRoot, string(controller), own[string(controller)]))
	}
	return out, nil
}
