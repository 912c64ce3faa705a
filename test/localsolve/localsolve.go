// Package localsolve runs "yudai solve" with a scripted model on a repository of its own, for measurements.
package localsolve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// The files in the directory of a solve. Record is written by it, the others are its input.
const (
	Repository = "repo"
	Issue      = "issue.md"
	Script     = "script.yml"
	Settings   = "config.yml"
	Record     = "record.json"
)

// Run is the command as a person gives it, with more flags if need be. A solve without a champion has a record, too:
// the record is nil only if there is none.
func Run(ctx context.Context, program, dir string, flags ...string) (*solve.Record, string, error) {
	in := func(name string) string { return filepath.Join(dir, name) }
	args := append([]string{"solve", "--config", in(Settings), "--script", in(Script), "--temps", "0.2", "--record", in(Record)}, flags...)
	cmd := exec.CommandContext(ctx, program, append(args, in(Repository), in(Issue))...) //nolint:gosec // our own program
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "XDG_STATE_HOME=" + in("state")}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	log, failed := cmd.CombinedOutput()
	if failed != nil {
		failed = fmt.Errorf("run yudai solve: %w", failed)
	}
	data, err := os.ReadFile(in(Record))
	if err != nil {
		return nil, string(log), errors.Join(failed, fmt.Errorf("read the record: %w", err))
	}
	record, err := solve.ReadRecord(data)
	if err != nil {
		return nil, string(log), errors.Join(failed, err)
	}
	return &record, string(log), failed
}

// Commit makes a git repository of a directory, with one commit of all that is there.
func Commit(ctx context.Context, dir, message string) error {
	git := []string{
		"git", "-c", "user.name=yudai", "-c", "user.email=yudai@localhost", "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false",
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"add", "--all", "--force"}, {"commit", "--quiet", "--no-verify", "--message", message},
	} {
		if _, err := Command(ctx, dir, append(git, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// Command runs a program of this machine and returns what it printed.
func Command(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // package managers and git, with arguments of our own definitions
	cmd.Dir = dir
	var words strings.Builder
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(words.String()))
	}
	return out, nil
}

// Paths lists the files below dir as detection sees them.
func Paths(dir string) ([]string, error) {
	var out []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(p, ".git/") {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	return out, nil
}
