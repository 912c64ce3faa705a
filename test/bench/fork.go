package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
)

const (
	forks     = 16
	baseFiles = 5000
	fileBytes = 4 << 10
)

// fork opens sixteen sandboxes from a prepared base, and runs a command in
// each that reads a file; against it sixteen clones with checkout of the same
// files, through git's own transport from this machine's disk: no network makes
// them slower. Both go on as many at a time as there are cores; putting away is
// not counted.
func (b *bench) fork(ctx context.Context, dir string) (result, error) {
	origin := filepath.Join(dir, "origin")
	if err := largeRepo(ctx, origin); err != nil {
		return result{}, err
	}
	d, err := newDriver(filepath.Join(dir, "sandboxes"))
	if err != nil {
		return result{}, err
	}
	if err := treeBase(ctx, d, origin); err != nil {
		return result{}, err
	}
	ours, theirs, err := pairs(ctx, b.repeats(5),
		func() (float64, error) { return openForks(ctx, d) },
		func() (float64, error) { return clones(ctx, origin, filepath.Join(dir, "clones")) })
	return result{
		checks: []check{{values: ratios(theirs, ours), unit: " times faster", bound: 10, least: true}},
		facts:  []string{fmt.Sprintf("%d sandboxes %s, %d clones %s; %d files of %d KiB", forks, took(median(ours)), forks, took(median(theirs)), baseFiles, fileBytes>>10)},
	}, err
}

// largeRepo makes a git repository with one commit.
func largeRepo(ctx context.Context, dir string) error {
	for i := range baseFiles {
		path := filepath.Join(dir, fmt.Sprintf("part%02d", i%50), fmt.Sprintf("file%04d.txt", i))
		if i < 50 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
		}
		// Lines that differ: a repository of equal files would be one object.
		text := strings.Repeat(fmt.Sprintf("%04d the quick brown fox %d jumps over the lazy dog\n", i, i*7919), fileBytes/50)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // ordinary files of a work tree
			return err
		}
	}
	return commitAll(ctx, dir)
}

// commitAll makes a repository of a directory, with one commit.
func commitAll(ctx context.Context, dir string) error {
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", "all"}} {
		if err := gitProgram(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// gitProgram runs the program without anything of this user's configuration.
func gitProgram(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return nil
}

// treeBase freezes a base called "base" with the files of a directory as work tree.
func treeBase(ctx context.Context, d *local.Driver, from string) error {
	sb, err := d.Open(ctx, sandbox.Spec{Name: "base"})
	if err != nil {
		return err
	}
	if err := putTree(ctx, sb, from); err != nil {
		return err
	}
	_, err = d.Freeze(ctx, sb)
	return err
}

// putTree copies a directory into the sandbox's work tree.
func putTree(ctx context.Context, sb sandbox.Sandbox, from string) error {
	out, in := io.Pipe()
	go func() {
		w := tar.NewWriter(in)
		in.CloseWithError(errors.Join(w.AddFS(os.DirFS(from)), w.Close()))
	}()
	text, res, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: "mkdir -p " + sandbox.RepoDir + " && tar -xof - -C " + sandbox.RepoDir, Dir: "/", Stdin: out})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("unpack the files: exit code %d: %s", res.ExitCode, text)
	}
	return err
}

// openForks is how long it takes until every fork has read a file, in seconds.
func openForks(ctx context.Context, d *local.Driver) (float64, error) {
	boxes := make([]sandbox.Sandbox, forks)
	s, err := timed(func() error {
		return spread16(ctx, func(ctx context.Context, i int) (err error) {
			if boxes[i], err = d.Open(ctx, sandbox.Spec{Name: fmt.Sprint("fork-", i), From: "base"}); err != nil {
				return err
			}
			out, _, err := sandbox.Output(ctx, boxes[i], sandbox.Command{Argv: []string{"cat", "part07/file0007.txt"}})
			if err == nil && len(out) < fileBytes/2 {
				err = fmt.Errorf("the fork has not the base's files: %q", out)
			}
			return err
		})
	})
	for _, box := range boxes {
		if box != nil {
			err = errors.Join(err, box.Close(ctx))
		}
	}
	return s, err
}

// clones is how long the clones take, in seconds.
func clones(ctx context.Context, origin, dir string) (float64, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	s, err := timed(func() error {
		return spread16(ctx, func(ctx context.Context, i int) error {
			return gitProgram(ctx, dir, "clone", "-q", "file://"+origin, fmt.Sprint("clone-", i))
		})
	})
	return s, errors.Join(err, os.RemoveAll(dir))
}

// spread16 does something for each fork, as many at a time as there are cores.
func spread16(ctx context.Context, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for i := range forks {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
