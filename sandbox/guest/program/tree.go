//go:build linux

package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// The processes of a command are the descendants of its supervisor, which adopts those
// whose parents ended. They also carry a mark that the kernel keeps, in case somebody
// kills the supervisor: the hard limit of file locks, for which the kernel has no use.
// A child inherits it, and no ordinary user can raise it again.

// launchedMark is the mark of what was launched; the mark of a command is its id, a
// number below it.
const launchedMark = 9007199254740992

const rlimitLocks = 10

// setMark marks this process and its children.
func setMark(mark string) {
	n, err := strconv.ParseUint(mark, 10, 64)
	if err != nil || !marksWork() {
		return
	}
	_ = syscall.Setrlimit(rlimitLocks, &syscall.Rlimit{Cur: n, Max: n})
}

// marksWork is false where the whole machine has such a limit already. A supervisor has
// one of its own and is told by whoever started it.
func marksWork() bool {
	var l syscall.Rlimit
	return slices.Contains(os.Args, marksItem) || syscall.Getrlimit(rlimitLocks, &l) == nil && l.Max > launchedMark
}

const marksItem = "marks=1"

// process is one process of the machine.
type process struct {
	pid, parent int
}

// set is a set of processes, by their ids.
type set map[int]bool

func (s set) with(others set) set {
	for pid := range others {
		s[pid] = true
	}
	return s
}

// processes are those of the machine that have not ended.
type processes []process

func allProcesses() processes {
	var all processes
	for _, name := range names("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, ok := parentOf(pid); ok {
			all = append(all, process{pid, parent})
		}
	}
	return all
}

// parentOf returns the parent of a process that has not ended.
func parentOf(pid int) (int, bool) {
	text := readText("/proc/" + strconv.Itoa(pid) + "/stat")
	f := strings.Fields(text[strings.LastIndex(text, ")")+1:]) // a program's name may contain anything
	if len(f) < 2 || f[0] == "Z" || f[0] == "X" {
		return 0, false
	}
	parent, _ := strconv.Atoi(f[1])
	return parent, true
}

// living reports whether a process has not ended.
func living(pid int) bool {
	_, ok := parentOf(pid)
	return ok
}

// mark is the mark of a process; 0 if it has none.
func mark(pid int) uint64 {
	_, line, _ := strings.Cut(readText("/proc/"+strconv.Itoa(pid)+"/limits"), "Max file locks")
	line, _, _ = strings.Cut(line, "\n")
	if f := strings.Fields(line); len(f) >= 2 {
		if n, err := strconv.ParseUint(f[1], 10, 64); err == nil && n <= launchedMark {
			return n
		}
	}
	return 0
}

// ours reports whether a process runs this program.
func ours(pid int) bool {
	program, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return err == nil && strings.HasPrefix(program, protocol.ProgramDir+"/")
}

// below returns the descendants of a process, without itself.
func (all processes) below(root int) set {
	found := set{}
	if root == 0 {
		return found
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !found[p.pid] && (p.parent == root || found[p.parent]) {
				found[p.pid], grown = true, true
			}
		}
	}
	return found
}

// marked returns the processes that have a mark which pick wants. It leaves supervisors
// out, which have the mark of their command.
func (all processes) marked(pick func(mark uint64) bool) set {
	found := set{}
	if !marksWork() {
		return found
	}
	for _, p := range all {
		if m := mark(p.pid); m != 0 && pick(m) && !ours(p.pid) {
			found[p.pid] = true
		}
	}
	return found
}

// ofCommand returns the processes of a command, without its supervisor.
func (all processes) ofCommand(j job) set {
	return all.below(j.supervisor()).with(all.marked(func(m uint64) bool { return strconv.FormatUint(m, 10) == j.id }))
}

// ofLaunched returns the processes of what was launched, with their supervisors.
func (all processes) ofLaunched() set {
	found := all.marked(func(m uint64) bool { return m == launchedMark })
	for _, j := range jobs(launchedDir) {
		if pid := j.supervisor(); j.supervised() {
			found = found.with(all.below(pid))
			found[pid] = true
		}
	}
	return found
}

// strays returns the processes of commands whose supervisors were killed.
func (all processes) strays() set {
	running := map[uint64]bool{}
	found := all.marked(func(m uint64) bool {
		if _, known := running[m]; !known && m != launchedMark {
			j := command(strconv.FormatUint(m, 10))
			running[m] = j.supervised() && !j.ended()
		}
		return m != launchedMark && !running[m]
	})
	if !ours(1) {
		return found
	}
	for _, p := range all { // the first process adopts only what has lost its supervisor
		if p.parent == 1 && !found[p.pid] && !ours(p.pid) && mark(p.pid) != launchedMark {
			found[p.pid] = true
			found = found.with(all.below(p.pid))
		}
	}
	return found
}

// endTree kills the processes that pick picks, until it picks none. It first stops them
// all, and looks again: what is stopped cannot fork. It gives up on processes that it may
// not kill, and when the time is over. It calls meanwhile before each look.
func endTree(meanwhile func(), pick func(processes) set, limit time.Duration) {
	refused := set{}
	choose := func() set {
		meanwhile()
		chosen := pick(allProcesses())
		for pid := range refused.with(set{1: true, os.Getpid(): true}) {
			delete(chosen, pid)
		}
		return chosen
	}
	for until := time.Now().Add(limit); time.Now().Before(until); {
		held := stopAll(choose, refused)
		if len(held) == 0 {
			return
		}
		for pid := range held {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		within(200*time.Millisecond, func() bool {
			for pid := range held {
				if living(pid) {
					return false
				}
			}
			return true
		})
	}
}

// stopAll stops what choose chooses until it chooses nothing new. A process that it no
// longer chooses goes on: its id has become another's.
func stopAll(choose func() set, refused set) set {
	held := set{}
	for range 200 {
		chosen, grown := choose(), false
		for pid := range chosen {
			if held[pid] {
				continue
			}
			if syscall.Kill(pid, syscall.SIGSTOP) != nil {
				refused[pid] = true
				continue
			}
			held[pid], grown = true, true
		}
		for pid := range held {
			if !chosen[pid] {
				_ = syscall.Kill(pid, syscall.SIGCONT)
				delete(held, pid)
			}
		}
		if !grown {
			break
		}
	}
	return held
}

// jobs are the commands, or the launched programs, whose files are in a directory.
func jobs(dir string) []job {
	var all []job
	for _, name := range names(dir) {
		if id, ok := strings.CutSuffix(name, ".on"); ok {
			all = append(all, job{id, dir + "/" + id})
		}
	}
	return all
}
