package simulation_test

import (
	"context"
	"crypto/sha1"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// The repository has one file that matters: its first line says what the tests
// make of the tree.
const (
	answerFile     = "answer.txt"
	answerPath     = sandbox.RepoDir + "/" + answerFile
	installCommand = "do-install"
	testCommand    = "run-tests"
	testTime       = 2 * time.Second
)

// scripts are the parts of package tree, known by a piece of their text.
func scripts() [][2]string {
	return [][2]string{
		{"lay", "holds a repository already"}, {"settle", "ls-files -z --others --exclude-standard --directory"},
		{"harvest", "git diff-index --cached -p"}, {"fingerprint", "cksum"},
		{"apply", "git apply --cached"}, {"restore", `"$GIT_DIR/restore"`},
		{"noted", `cat "$GIT_DIR/info/exclude"`}, {"note", `cat > "$GIT_DIR/rules"`},
	}
}

// word is what a command is: a script of package tree, or its first word.
func word(c sandbox.Command) string {
	text := strings.Join(c.Argv, " ")
	for _, s := range scripts() {
		if c.Shell == "" && strings.Contains(text, s[1]) {
			return s[0]
		}
	}
	first, _, _ := strings.Cut(c.Shell+text, " ")
	return first
}

// answerCommand is what the sandboxes of the simulation do. An agent's words are
// "write A|B" (the file gets these lines), "wait 5s" and "echo".
func answerCommand(ctx context.Context, c fakesandbox.Call) (sandbox.Result, error) {
	_, rest, _ := strings.Cut(c.Command.Shell, " ")
	switch word(c.Command) {
	case "lay":
		if _, laid := c.Files[answerPath]; laid {
			return sandbox.Result{ExitCode: 1}, nil // as the script refuses it
		}
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
		if c.Files[answerPath] != "base" {
			return sandbox.Result{ExitCode: 1}, nil // it is not the base any more
		}
		if strings.HasPrefix(patched(string(data)), "bad") {
			return sandbox.Result{ExitCode: 5}, nil
		}
		c.Files[answerPath] = patched(string(data))
	case "settle", "restore", "noted", "note", installCommand:
	case testCommand:
		return test(ctx, c)
	case "write":
		c.Files[answerPath] = strings.ReplaceAll(rest, "|", "\n")
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return sandbox.Result{}, err
		}
		return sandbox.Result{}, pause(ctx, d)
	case "echo":
		_, _ = io.WriteString(c.Stdout, rest+"\n")
	default:
		return sandbox.Result{}, fmt.Errorf("the simulation does not know this command, has package tree changed? %q", word(c.Command))
	}
	return sandbox.Result{}, nil
}

// test passes if the file's first line is good.
func test(ctx context.Context, c fakesandbox.Call) (sandbox.Result, error) {
	if err := pause(ctx, testTime); err != nil {
		return sandbox.Result{}, err
	}
	first, _, _ := strings.Cut(c.Files[answerPath], "\n")
	if first == "good" {
		return sandbox.Result{}, nil
	}
	return sandbox.Result{ExitCode: 1}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// patch is git's difference between the base's file and one with the text.
func patch(text string) string {
	if text == "base" {
		return ""
	}
	lines := strings.Split(text, "\n")
	count := ""
	if len(lines) > 1 {
		count = fmt.Sprintf(",%d", len(lines))
	}
	return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nindex %[2]s..%[3]s 100644\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1%[4]s @@\n-base\n+%[5]s\n",
		answerFile, blob("base\n"), blob(text+"\n"), count, strings.Join(lines, "\n+"))
}

// patched is the text that a patch of [patch] leads to.
func patched(p string) string {
	_, text, _ := strings.Cut(p, "\n+++ ")
	_, text, _ = strings.Cut(text, "\n+")
	return strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n+", "\n")
}

// blob is git's name of a file's content.
func blob(data string) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)))
}
