package hostmachine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// mark is a variable by which everything that was launched is found again.
const mark = "YUDAI_HOSTMACHINE"

// Launch implements [sandbox.Launcher].
func (m *Machine) Launch(ctx context.Context, p sandbox.Command) error {
	if running, err := m.Launched(ctx); err != nil || running {
		return errors.Join(err, errors.New("launch: a program is running"))
	}
	c := m.command(context.WithoutCancel(ctx), p)
	c.Env = append(c.Env, mark+"="+m.dir)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	var timer *time.Timer
	if p.Timeout > 0 {
		timer = time.AfterFunc(p.Timeout, func() { m.kill() })
	}
	go func() { // reaps it; it ends with the program at the latest
		_ = c.Wait() // how it ended is told by its files
		if timer != nil {
			timer.Stop()
		}
	}()
	return nil
}

// Launched implements [sandbox.Launcher].
func (m *Machine) Launched(ctx context.Context) (bool, error) {
	return len(m.launched()) > 0, ctx.Err()
}

// Halt implements [sandbox.Launcher].
func (m *Machine) Halt(ctx context.Context) error {
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for m.kill() > 0 {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("halt: %w", ctx.Err())
		}
	}
	return nil
}

// kill returns how many processes it found.
func (m *Machine) kill() int {
	pids := m.launched()
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone
	}
	return len(pids)
}

// launched are the processes that carry the mark.
func (m *Machine) launched() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	want := []byte(mark + "=" + m.dir)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil {
			continue
		}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(v, want) {
				out = append(out, pid)
				break
			}
		}
	}
	return out
}

// Tree is a fingerprint of the work tree: names, modes and contents.
func (m *Machine) Tree(ctx context.Context) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(filepath.Join(m.dir, "repo"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file that has just gone
		}
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // gone meanwhile
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		fmt.Fprintf(sum, "%s %v %d\n%s", path, info.Mode(), len(data), data)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read work tree: %w", err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), ctx.Err()
}
