package swerex_test

import (
	"os"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/swerex"
	"github.com/yudai-dev/yudai/test/require"
)

var interrupt = object{"action_type": "bash_interrupt", "timeout": 0.2, "n_retry": 3}

// started is an endpoint with a session, and the directory of its machine.
func started(t *testing.T) (url string, place func(string) string) {
	t.Helper()
	require.Daily(t)
	m := agenttest.Machine(t)
	_, url = serve(t, m)
	if _, class, message := post(t, url+"/create_session", object{}); class != "" {
		t.Fatal(class, message)
	}
	return url, m.Host
}

func TestShellKeepsItsState(t *testing.T) {
	t.Parallel()
	url, place := started(t)
	inShell(t, url, "mkdir -p d; cd d; x=1; sleep 300 & job=$!; set -- a 'b c'; trap 'touch ../trapped' USR1; exec 7>../seven", nil)
	out, _, _ := inShell(t, url, `pwd | grep -o 'repo/d$'; echo "$x $2 $#"; kill -0 $! && [ $! = $job ] && echo alive; kill -USR1 $$; echo seen >&7`, nil)
	if out["output"] != "repo/d\n1 b c 2\nalive\n" || out["exit_code"] != 0.0 {
		t.Errorf("%q", out["output"])
	}
	if out, _, _ = inShell(t, url, "ls ..; cat ../seven; kill $job", nil); out["output"] != "d\nseven\ntrapped\nseen\n" {
		t.Errorf("%q", out["output"])
	}
	if _, err := os.Stat(place("/workspace/repo/seven")); err != nil {
		t.Error(err)
	}
}

// All of it comes, in however many pieces it is printed.
func TestOutputInPieces(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	out, _, _ := inShell(t, url, "for i in {1..300}; do echo $i; read -t 0.0001 <> <(:); done; seq 300000", nil)
	text := out["output"].(string)
	if n := strings.Count(text, "\n"); n != 300300 || !strings.HasSuffix(text, "\n300000\n") {
		t.Errorf("%d lines: ...%q", n, text[max(0, len(text)-40):])
	}
}

// What a command prints beyond the limit is dropped, and does not fill the disk.
func TestOutputLimit(t *testing.T) {
	t.Parallel()
	require.Daily(t)
	m := agenttest.Machine(t)
	s, url := serve(t, m)
	swerex.LimitOutput(s, 10000)
	post(t, url+"/create_session", object{})
	out, _, _ := inShell(t, url, "yes 0123456 | head -n 100000; echo end", nil)
	text := out["output"].(string)
	if len(text) > 10100 || !strings.HasPrefix(text, "0123456\n") || !strings.Contains(text, "longer than 10000 bytes") || strings.Contains(text, "end") {
		t.Errorf("%d bytes: ...%q", len(text), text[len(text)-80:])
	}
	if _, class, _ := inShell(t, url, "yes", object{"timeout": 0.5}); class != "swerex.exceptions.CommandTimeoutError" {
		t.Error(class)
	}
	if info, err := os.Stat(m.Host("/workspace/agent/rex/s1/2.out")); err != nil || info.Size() > 10<<10 {
		t.Errorf("%v %v", info, err)
	}
	out, class, _ := post(t, url+"/run_in_session", interrupt)
	if class != "" || !strings.HasPrefix(out["output"].(string), "y\ny\n") {
		t.Errorf("%s %.20v", class, out)
	}
	if out, _, _ := inShell(t, url, "echo ok", nil); out["output"] != "ok\n" {
		t.Error(out)
	}
}

// A shell that ends by its command's doing says so, and another can begin.
func TestShellEnds(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	for range 2 {
		if _, class, message := inShell(t, url, "echo before; exit 3", nil); class != "swerex.exceptions.SwerexException" || !strings.Contains(message, "exit code 3") {
			t.Errorf("%s %s", class, message)
		}
	}
	if _, class, _ := post(t, url+"/close_session", object{}); class != "" {
		t.Error(class)
	}
	post(t, url+"/create_session", object{})
	if out, _, _ := inShell(t, url, "echo again", nil); out["output"] != "again\n" {
		t.Error(out)
	}
}

// An interrupt that comes while a command is waited for ends it for both.
func TestInterruptWhileWaiting(t *testing.T) {
	t.Parallel()
	url, place := started(t)
	done := make(chan object)
	go func() {
		out, _, _ := inShell(t, url, "touch begun; sleep 300; echo not this", object{"timeout": nil})
		done <- out
	}()
	await(t, place("/workspace/repo/begun"))
	if out, class, _ := post(t, url+"/run_in_session", interrupt); class != "" || out["exit_code"] != 0.0 {
		t.Error(class, out)
	}
	if out := <-done; out["exit_code"] != 130.0 || out["output"] != "" {
		t.Error(out)
	}
	if out, class, _ := post(t, url+"/run_in_session", interrupt); class != "" || out["output"] != "" {
		t.Errorf("a free shell: %s %v", class, out)
	}
}

// An interrupt without a time gets a short one: a command that heeds none is killed after it.
func TestInterruptWithoutATime(t *testing.T) {
	t.Parallel()
	url, place := started(t)
	done := make(chan string)
	go func() {
		_, class, _ := inShell(t, url, "trap '' INT; touch begun; sleep 300", object{"timeout": nil})
		done <- class
	}()
	await(t, place("/workspace/repo/begun"))
	out, class, message := post(t, url+"/run_in_session", object{"action_type": "bash_interrupt", "timeout": nil, "n_retry": 1})
	if class != "" || out["exit_code"] != 0.0 {
		t.Error(class, message, out)
	}
	if class := <-done; class != "" {
		t.Error(class)
	}
}

// SWE-agent starts no interactive programs: a client that does is told that there are none.
func TestInteractiveIsRefused(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	for _, more := range []object{{"is_interactive_command": true}, {"is_interactive_quit": true}, {"expect": []string{">>> "}}} {
		if _, class, message := inShell(t, url, "python3", more); class != "swerex.exceptions.SwerexException" || !strings.Contains(message, "no interactive commands") {
			t.Errorf("%v: %s %s", more, class, message)
		}
	}
}

// A command that still runs is waited for before the next begins.
func TestCommandAfterATimeout(t *testing.T) {
	t.Parallel()
	url, place := started(t)
	if _, class, _ := inShell(t, url, "until [ -e go ]; do sleep 0.05; done; x=late", object{"timeout": 0.1}); class != "swerex.exceptions.CommandTimeoutError" {
		t.Error(class)
	}
	if _, class, _ := inShell(t, url, "echo early", object{"timeout": 0.1}); class != "swerex.exceptions.CommandTimeoutError" {
		t.Error(class)
	}
	if err := os.WriteFile(place("/workspace/repo/go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, _ := inShell(t, url, "echo $x", nil); out["output"] != "late\n" {
		t.Error(out)
	}
}

// Paths that clients have built in are replaced where they are paths, and nowhere else.
func TestPaths(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	script := []byte("#!/bin/sh\necho state >/root/state.json\necho /root/toolsmith /x/root/tools /root/tools. $0\n")
	upload(t, url, "/root/tools/say", "false", script)
	out, class, message := post(t, url+"/execute", object{"command": "chmod +x /root/tools/say; /root/tools/say; cat '/root/state.json'", "shell": true})
	if class != "" || out["stdout"] != "/root/toolsmith /x/root/tools /root/tools. /workspace/agent/root/tools/say\nstate\n" {
		t.Errorf("%s %s %v", class, message, out)
	}
	if out, class, _ = post(t, url+"/read_file", object{"path": "/root/state.json"}); class != "" || out["content"] != "state\n" {
		t.Error(class, out)
	}
	upload(t, url, "/workspace/keep/other", "false", script)
	if out, _, _ = post(t, url+"/read_file", object{"path": "/workspace/keep/other"}); out["content"] != string(script) {
		t.Errorf("a file elsewhere was changed: %v", out)
	}
}
