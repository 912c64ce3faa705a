package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yudai-dev/yudai/test/localsolve"
)

// fetch lays the release out in dir. What package managers hand out is kept in
// the cache, and its sum is checked each time.
func (s source) fetch(ctx context.Context, cache, dir string) error {
	switch s.Ecosystem {
	case "go":
		return s.fetchModule(ctx, cache, dir)
	case "crates":
		return s.fetchCrate(ctx, cache, dir)
	}
	kept := filepath.Join(cache, s.Ecosystem, strings.ReplaceAll(s.Name, "/", "+")+"@"+s.Version)
	file, err := archive(kept)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.download(ctx, kept); err != nil {
			return err
		}
		file, err = archive(kept)
	}
	if err != nil {
		return err
	}
	sum, err := fileSum(file)
	if err != nil {
		return err
	}
	if sum != s.Sum {
		return fmt.Errorf("%s has the sum %s, want %s", file, sum, s.Sum)
	}
	return unpack(file, dir)
}

// archive is the one file in a directory of the cache.
func archive(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*gz"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d archives in %s: %w", len(found), dir, fs.ErrNotExist)
	}
	return found[0], nil
}

// download runs the package manager; what it leaves appears at once or not at all.
func (s source) download(ctx context.Context, kept string) error {
	if err := os.MkdirAll(filepath.Dir(kept), 0o750); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(kept), "new-*")
	if err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	var argv []string
	switch s.Ecosystem {
	case "pypi":
		argv = []string{"python3", "-m", "pip", "download", "--quiet", "--no-binary", ":all:", "--no-deps", "--dest", tmp, s.Name + "==" + s.Version}
	case "npm":
		argv = []string{"npm", "pack", "--silent", "--pack-destination", tmp, s.Name + "@" + s.Version}
	default:
		return fmt.Errorf("unknown ecosystem %q: use go, crates, pypi or npm", s.Ecosystem)
	}
	if _, err := localsolve.Command(ctx, tmp, argv...); err != nil {
		return err
	}
	_ = os.RemoveAll(kept) // what an earlier version of this program left
	if err := os.Rename(tmp, kept); err != nil {
		return fmt.Errorf("fill the cache: %w", err)
	}
	return nil
}

// fetchModule copies a Go module, whose sum go itself has checked, out of the module cache.
func (s source) fetchModule(ctx context.Context, cache, dir string) error {
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	out, err := localsolve.Command(ctx, cache, "go", "mod", "download", "-json", s.Name+"@"+s.Version)
	if err != nil {
		return err
	}
	var module struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &module); err != nil {
		return fmt.Errorf("read what go mod download says: %w", err)
	}
	if module.Sum != s.Sum {
		return fmt.Errorf("%s has the sum %s, want %s", s.Name, module.Sum, s.Sum)
	}
	if err := os.CopyFS(dir, os.DirFS(module.Dir)); err != nil {
		return fmt.Errorf("copy %s: %w", s.Name, err)
	}
	// The module cache is read-only, and so would the copy be.
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if d.IsDir() {
			mode = 0o755
		}
		return os.Chmod(p, mode)
	})
}

func fileSum(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// unpack lays out the files of an archive without its first directory.
func unpack(name, dir string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	root, err := os.OpenRoot(dir) // no name in the archive leads out of it
	if err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	defer func() { _ = root.Close() }()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			_, rest, _ := strings.Cut(h.Name, "/")
			err = write(root, rest, h.FileInfo().Mode().Perm()|0o600, r)
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", name, err)
		}
	}
}

func write(root *os.Root, name string, mode fs.FileMode, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from) //nolint:gosec // releases whose sum is known
	return errors.Join(err, f.Close())
}
