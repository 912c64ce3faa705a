package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/yudai-dev/yudai/test/localsolve"
)

// repository makes a git repository of the release with the bug in it.
func (p project) repository(ctx context.Context, cache, dir string) error {
	if err := p.Source.fetch(ctx, cache, dir); err != nil {
		return fmt.Errorf("fetch %s: %w", p.Source.Name, err)
	}
	for _, e := range p.Bug {
		if err := e.apply(dir); err != nil {
			return err
		}
	}
	return localsolve.Commit(ctx, dir, p.Source.Name+" "+p.Source.Version)
}

// apply makes the edit below dir.
func (e edit) apply(dir string) error {
	name := filepath.Join(dir, filepath.FromSlash(e.File))
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("plant the bug: %w", err)
	}
	if n := bytes.Count(data, []byte(e.Find)); n != 1 || e.Find == "" {
		return fmt.Errorf("plant the bug: %s has the text %d times, want once: %q", e.File, n, e.Find)
	}
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("plant the bug: %w", err)
	}
	if err := os.WriteFile(name, bytes.Replace(data, []byte(e.Find), []byte(e.Replace), 1), info.Mode().Perm()); err != nil {
		return fmt.Errorf("plant the bug: %w", err)
	}
	return nil
}
