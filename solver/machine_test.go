package solver_test

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// The commands of the test repository, beside those of an agent.
const (
	installCommand = "do-install"
	testCommand    = "run-tests"
	answerPath     = sandbox.RepoDir + "/" + answerFile
)

// machine answers what yudai runs in the fake sandboxes: the scripts of package
// tree, the install and test commands, and these words of an agent:
//
//	write TEXT    the answer file becomes TEXT
//	sleep 10s     until the time is over or the command is killed
//	noise 100     prints as many bytes
//	boom          the sandbox fails
//	echo TEXT
//
// A patch with a bad answer does not apply. The tests go by the first word of the answer: good
// passes, norun cannot be run, slow passes after a minute, disk fills the disk, anything else
// fails, as on the base.
type machine struct {
	mu     sync.Mutex
	counts map[string]int // how often each command of the repository ran
	hooks  map[string]fakesandbox.Func
	before func(word string, c fakesandbox.Call) // sees every command first
	alien  []string                              // scripts nobody knows: package tree has changed
}

// on replaces the answer to a command: installCommand, testCommand, or a part of tree's ("harvest", ...).
func (m *machine) on(word string, f fakesandbox.Func) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hooks[word] = f
}

// watch shows every command to f before it is answered.
func (m *machine) watch(f func(word string, c fakesandbox.Call)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = f
}

// count tells how often a command ran.
func (m *machine) count(word string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[word]
}

// scripts are the parts of package tree, known by a piece of their text.
func scripts() [][2]string {
	return [][2]string{
		{"lay", "holds a repository already"}, {"settle", "ls-files -z --others --exclude-standard --directory"},
		{"harvest", "git diff-index --cached -p"}, {"fingerprint", "cksum"},
		{"apply", "git apply --cached"}, {"restore", `"$GIT_DIR/restore"`},
		{"noted", `cat "$GIT_DIR/info/exclude"`}, {"note", `cat > "$GIT_DIR/rules"`},
	}
}

func (m *machine) word(c sandbox.Command) string {
	if c.Shell != "" {
		word, _, _ := strings.Cut(c.Shell, " ")
		return word
	}
	text := strings.Join(c.Argv, " ")
	for _, s := range scripts() {
		if strings.Contains(text, s[1]) {
			return s[0]
		}
	}
	return text
}

func (m *machine) answer(ctx context.Context, c fakesandbox.Call) (sandbox.Result, error) {
	word := m.word(c.Command)
	m.mu.Lock()
	m.counts[word]++
	hook, before := m.hooks[word], m.before
	m.mu.Unlock()
	if before != nil {
		before(word, c)
	}
	if hook != nil {
		return hook(ctx, c)
	}
	switch word {
	case "lay":
		c.Files[answerPath] = "base"
	case "harvest":
		_, _ = io.WriteString(c.Stdout, patch(c.Files[answerPath]))
	case "fingerprint":
		fmt.Fprintf(c.Stdout, "%x", sha1.Sum([]byte(c.Files[answerPath])))
	case "apply":
		data, err := io.ReadAll(c.Command.Stdin)
		if err != nil {
			return sandbox.Result{}, err
		}
		if strings.HasPrefix(patched(string(data)), "bad") {
			return sandbox.Result{ExitCode: 5}, nil
		}
		c.Files[answerPath] = patched(string(data))
	case "settle", "restore", "noted", "note", installCommand:
	case testCommand:
		return m.test(ctx, c)
	default:
		return m.command(ctx, c)
	}
	return sandbox.Result{}, nil
}

// test is the repository's test command.
func (m *machine) test(ctx context.Context, c fakesandbox.Call) (sandbox.Result, error) {
	word, _, _ := strings.Cut(c.Files[answerPath], " ")
	switch word {
	case "good":
		return sandbox.Result{}, nil
	case "norun":
		return sandbox.Result{ExitCode: 127}, nil
	case "slow":
		return pause(ctx, time.Minute)
	case "disk":
		return sandbox.Result{}, sandbox.ErrDisk
	}
	return sandbox.Result{ExitCode: 1}, nil
}

// command is one of the agent's.
func (m *machine) command(ctx context.Context, c fakesandbox.Call) (sandbox.Result, error) {
	word, rest, _ := strings.Cut(c.Command.Shell, " ")
	switch word {
	case "write":
		c.Files[answerPath] = rest
	case "sleep":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return sandbox.Result{}, err
		}
		return pause(ctx, d)
	case "noise":
		n, _ := strconv.Atoi(rest) // 0 prints nothing
		_, _ = io.WriteString(c.Stdout, strings.Repeat("x", n))
	case "boom":
		return sandbox.Result{}, errors.New("the machine broke")
	case "echo":
		_, _ = io.WriteString(c.Stdout, rest+"\n")
	default:
		m.mu.Lock()
		m.alien = append(m.alien, strings.Join(c.Command.Argv, " ")+c.Command.Shell)
		m.mu.Unlock()
		return sandbox.Result{ExitCode: 127}, nil
	}
	return sandbox.Result{}, nil
}

func pause(ctx context.Context, d time.Duration) (sandbox.Result, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return sandbox.Result{}, nil
	case <-ctx.Done():
		return sandbox.Result{}, ctx.Err()
	}
}

// patch is git's difference between the base's answer and the text.
func patch(text string) string {
	if text == "base" {
		return ""
	}
	return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nindex %[2]s..%[3]s 100644\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1 @@\n-base\n+%[4]s\n",
		answerFile, blob("base\n"), blob(text+"\n"), text)
}

// patched is the text a patch of [patch] leads to.
func patched(p string) string {
	_, text, _ := strings.Cut(p, "\n+++ ")
	_, text, _ = strings.Cut(text, "\n+")
	return strings.TrimSuffix(text, "\n")
}

// blob is git's name of a file's content.
func blob(data string) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)))
}

// exit answers with a code and a text.
func exit(code int, text string) fakesandbox.Func {
	return func(_ context.Context, c fakesandbox.Call) (sandbox.Result, error) {
		_, _ = io.WriteString(c.Stdout, text)
		return sandbox.Result{ExitCode: code}, nil
	}
}

// sleeps takes its time.
func sleeps(d time.Duration) fakesandbox.Func {
	return func(ctx context.Context, _ fakesandbox.Call) (sandbox.Result, error) { return pause(ctx, d) }
}

// failing breaks an operation on the sandboxes whose name ends so.
func failing(op fakesandbox.Op, suffix string) func(fakesandbox.Op, string) error {
	return func(o fakesandbox.Op, name string) error {
		if o == op && strings.HasSuffix(name, suffix) {
			return errors.New("out of order")
		}
		return nil
	}
}

// firstOnly lets a fault happen once.
func firstOnly(f func(fakesandbox.Op, string) error) func(fakesandbox.Op, string) error {
	done := false // under the driver's lock
	return func(o fakesandbox.Op, name string) error {
		if done {
			return nil
		}
		err := f(o, name)
		done = err != nil
		return err
	}
}
