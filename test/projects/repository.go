package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	git := []string{"git", "-c", "user.name=projects", "-c", "user.email=projects@localhost", "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false"}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"add", "--all", "--force"}, {"commit", "--quiet", "--no-verify", "--message", p.Source.Name + " " + p.Source.Version},
	} {
		if _, err := command(ctx, dir, append(git, args...)...); err != nil {
			return err
		}
	}
	return nil
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

// paths lists the files below dir as detection sees them.
func paths(dir string) ([]string, error) {
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
