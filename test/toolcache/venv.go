package toolcache

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// commandTime is the limit of each command of an install.
const commandTime = 10 * time.Minute

// Lock is a file of requirements with hashes, and what pip is told beside it.
type Lock struct {
	File    string
	Options []string
}

// Venv returns the programs' directory of a virtual environment into which the locks
// were installed, one after the other.
func Venv(ctx context.Context, name string, locks ...Lock) (bin string, err error) {
	python, key, err := Python(ctx)
	if err != nil {
		return "", err
	}
	for _, l := range locks {
		data, err := os.ReadFile(l.File)
		if err != nil {
			return "", fmt.Errorf("read lock: %w", err)
		}
		key = slices.Concat(key, data, []byte(strings.Join(l.Options, " ")))
	}
	dir, err := Dir(name, key, func(dir string) error {
		if _, err := Run(ctx, "", python, "-m", "venv", dir); err != nil {
			return err
		}
		for _, l := range locks {
			args := []string{filepath.Join(dir, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile", "--require-hashes", "--requirement", l.File}
			if _, err := Run(ctx, "", append(args, l.Options...)...); err != nil {
				return err
			}
		}
		return nil
	})
	return filepath.Join(dir, "bin"), err
}

// Python finds a Python with pip. Its identity, which belongs to the key of what is
// installed with it, changes with its version, its place and the machine's architecture.
func Python(ctx context.Context) (program string, identity []byte, err error) {
	if program, err = exec.LookPath("python3"); err != nil {
		return "", nil, fmt.Errorf("find Python: %w", err)
	}
	identity, err = Run(ctx, "", program, "-c", "import sys, platform, ensurepip; print(sys.version, sys.prefix, platform.machine())")
	return program, identity, err
}

// Run runs one command of an install and returns what it printed. The operator's
// mirrors are in its environment, which is this process's.
func Run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return out, nil
}
