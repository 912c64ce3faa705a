package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"time"
)

// profiled runs a row's measurement under the profiler, if profiles are wanted.
func (b *bench) profiled(key string, do func() error) error {
	if b.profile == "" {
		return do()
	}
	if err := os.MkdirAll(b.profile, 0o755); err != nil {
		return err
	}
	path := filepath.Join(b.profile, key+".cpu")
	stop, err := startProfile(path)
	if err != nil {
		return err
	}
	err = do()
	if stopped := stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	return b.top(path)
}

// startProfile profiles this process until the returned function is called.
func startProfile(path string) (stop func() error, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, fmt.Errorf("write a profile: %w", err)
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// top lists the hottest functions of a profile beside it.
func (b *bench) top(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-cum", "-nodecount=60", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("read the profile %s: %w: %s", path, err, out)
	}
	return os.WriteFile(path+".txt", out, 0o644) //nolint:gosec // figures, nothing secret
}
