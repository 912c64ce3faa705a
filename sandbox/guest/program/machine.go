//go:build linux

package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// needed are the programs without which no run can work.
func needed() []string { return []string{"bash", "cat", "git", "tar"} }

// openMachine makes the directories of a new machine, or of a copy of one.
func openMachine(r protocol.Request, meanwhile func()) protocol.Answer {
	var lacking []string
	env := environment(r)
	for _, program := range needed() {
		if _, err := lookUp(program, env); err != nil {
			lacking = append(lacking, program)
		}
	}
	if len(lacking) > 0 {
		return protocol.Answer{Result: protocol.Lacking, Detail: strings.Join(lacking, " ")}
	}
	if err := makeDirs(r); err != nil {
		return protocol.Answer{Result: protocol.NoPlace, Detail: err.Error()}
	}
	return awaitForwarder(r, meanwhile)
}

// opened tells where this program is, for the calls that follow.
func opened() protocol.Answer {
	path, err := os.Readlink(self)
	if err != nil {
		return failed(err.Error())
	}
	return protocol.Answer{Result: protocol.OK, Detail: path}
}

func makeDirs(r protocol.Request) error {
	if err := os.RemoveAll(protocol.StateDir); err != nil {
		return err
	}
	dirs := []string{"/workspace", "/workspace/repo", "/workspace/home", "/workspace/keep", protocol.StateDir, launchedDir}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(protocol.StateDir, 0o700); err != nil {
		return err
	}
	files := map[string]string{ownerFile: r.Token, oomFile: strconv.Itoa(oomKills(r.OOM))}
	for file, text := range files {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		dirs = append(dirs, file)
	}
	if r.User == "" {
		return nil
	}
	uid, gid, err := idsOf(r.User)
	for _, name := range dirs {
		if err == nil {
			err = os.Chown(name, uid, gid)
		}
	}
	return err
}

// idsOf are the numbers of a user.
func idsOf(name string) (uid, gid int, err error) {
	for _, line := range strings.Split(readText("/etc/passwd"), "\n") {
		f := strings.Split(line, ":")
		if len(f) < 4 || f[0] != name {
			continue
		}
		if uid, err = strconv.Atoi(f[2]); err != nil {
			return 0, 0, err
		}
		gid, err = strconv.Atoi(f[3])
		return uid, gid, err
	}
	return 0, 0, errors.New("/etc/passwd has no user " + name)
}

// endTime is how long a command may take to end that is killed, with its supervisor.
const endTime = 20 * time.Second

// attachMachine takes a sandbox over from a dead owner and ends its commands, but not what
// was launched.
func attachMachine(r protocol.Request, meanwhile func()) protocol.Answer {
	st, err := os.Stat(protocol.StateDir)
	if err != nil || r.OnlyOwner && !owned(r.Token) {
		return protocol.Answer{Result: protocol.Gone}
	}
	if err := replaceOwner(r.Token, st); err != nil {
		return inState(err)
	}
	over := within(endTime, func() bool {
		endTree(meanwhile, oldCommands, time.Second)
		for _, j := range jobs(protocol.StateDir) {
			if !j.ended() && j.supervised() {
				return false
			}
		}
		return true
	})
	if !over {
		return failed("commands of its former owner still run")
	}
	for _, name := range names(protocol.StateDir) {
		if strings.Contains(name, ".") {
			_ = os.Remove(protocol.StateDir + "/" + name)
		}
	}
	return awaitForwarder(r, meanwhile)
}

// replaceOwner names the new owner in one step, in a file of the user whose directory it is.
func replaceOwner(token string, dir os.FileInfo) error {
	fresh := protocol.StateDir + "/owner.new"
	if err := os.WriteFile(fresh, []byte(token), 0o600); err != nil {
		return err
	}
	if sys, ok := dir.Sys().(*syscall.Stat_t); ok {
		if err := os.Chown(fresh, int(sys.Uid), int(sys.Gid)); err != nil {
			return err
		}
	}
	return os.Rename(fresh, ownerFile)
}

// oldCommands returns the processes of all commands, without their supervisors.
func oldCommands(all processes) set {
	found := all.marked(func(m uint64) bool { return m != launchedMark }).with(all.strays())
	for _, j := range jobs(protocol.StateDir) {
		if j.supervised() {
			found = found.with(all.below(j.supervisor()))
		}
	}
	return found
}
