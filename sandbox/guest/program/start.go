//go:build linux

package main

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// self is this program, whatever becomes of its file.
const self = "/proc/self/exe"

// bash runs the text of commands.
const bash = "/bin/bash"

// oneProcessor is the first variable of a supervisor's environment; see startSupervisor.
const oneProcessor = "GOMAXPROCS=1"

// machineEnv is the environment that the provider gave this process, or, in a
// supervisor, the one that started it.
func machineEnv() []string {
	env := splitZero(readText("/proc/self/environ"))
	if len(env) > 0 && env[0] == oneProcessor {
		env = env[1:]
	}
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "LC_ALL=") }) // it would hide our LANG
}

// environment is a command's: the machine's own, and what the request adds.
func environment(r protocol.Request) []string {
	values := map[string]string{}
	var order []string
	for _, v := range append(machineEnv(), r.Env...) {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			continue
		}
		if _, known := values[name]; !known {
			order = append(order, name)
		}
		values[name] = value
	}
	if len(r.Path) > 0 {
		values["PATH"] = strings.Join(r.Path, ":") + ":" + values["PATH"]
	}
	values["PWD"] = r.Dir
	order = append(order, "PWD")
	env := make([]string, 0, len(order))
	for _, name := range order {
		if value, ok := values[name]; ok {
			env = append(env, name+"="+value)
			delete(values, name)
		}
	}
	return env
}

// cannotRun says why a program does not run; code is what a shell would exit with.
type cannotRun struct {
	code int
	why  string
}

func (c cannotRun) Error() string { return c.why }

// startProgram starts the program of a request in a process group of its own.
func startProgram(j job, r protocol.Request, files []int) (int, error) {
	if err := os.Chdir(r.Dir); err != nil {
		return 0, cannotRun{126, err.Error()}
	}
	env := environment(r)
	path, argv, err := programOf(j, r, env)
	if err != nil {
		return 0, err
	}
	if r.Shell != "" && len(r.Shell) < longestText {
		env = append(env, textVariable+"="+r.Shell)
	}
	attr := &syscall.ProcAttr{Env: env, Sys: &syscall.SysProcAttr{Setpgid: true}}
	for _, fd := range files {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	pid, err := syscall.ForkExec(path, argv, attr)
	if err == syscall.ENOEXEC { //nolint:errorlint // a text without a first line of its own: bash runs it
		pid, err = syscall.ForkExec(bash, append([]string{bash, path}, argv[1:]...), attr)
	}
	switch err {
	case nil, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC: //nolint:errorlint // bare numbers of the kernel's
		return pid, err
	case syscall.ENOENT:
		return 0, cannotRun{127, argv[0] + ": " + err.Error()}
	}
	return 0, cannotRun{126, argv[0] + ": " + err.Error()}
}

// textVariable carries a text to bash: every user of the machine sees the arguments of a
// process, and only its own user sees the environment. The text's children do not inherit it.
const textVariable = "YUDAI_TEXT"

// longestText is what one variable can hold, with a reserve.
const longestText = 120 << 10

// programOf is the file to execute and its arguments.
func programOf(j job, r protocol.Request, env []string) (string, []string, error) {
	if len(r.Argv) > 0 {
		path, err := lookUp(r.Argv[0], env)
		return path, r.Argv, err
	}
	if len(r.Shell) < longestText {
		return bash, []string{"bash", "-c", `eval "unset ` + textVariable + `; $` + textVariable + `"`}, nil
	}
	file := j.file("sh")
	return bash, []string{"bash", file}, os.WriteFile(file, []byte(r.Shell), 0o600)
}

// lookUp finds a program as a shell does.
func lookUp(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var path string
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	found := cannotRun{127, name + ": command not found"}
	for _, dir := range strings.Split(path, ":") {
		if dir == "" {
			dir = "."
		}
		st, err := os.Stat(dir + "/" + name)
		if err != nil || st.IsDir() {
			continue
		}
		if st.Mode()&0o111 != 0 {
			return dir + "/" + name, nil
		}
		found = cannotRun{126, name + ": permission denied"}
	}
	return "", found
}
