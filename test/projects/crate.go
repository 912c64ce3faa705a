package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/yudai-dev/yudai/test/localsolve"
)

// fetchCrate lets cargo lay out a crate, as what a package of ours depends on.
// cargo checks its files against the sum of the release, which we check here.
func (s source) fetchCrate(ctx context.Context, cache, dir string) error {
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	tmp, err := os.MkdirTemp(cache, "crate-*")
	if err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	manifest := fmt.Sprintf("[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n%s = \"=%s\"\n", s.Name, s.Version)
	err = errors.Join(
		os.WriteFile(filepath.Join(tmp, "Cargo.toml"), []byte(manifest), 0o600),
		os.Mkdir(filepath.Join(tmp, "src"), 0o750),
		os.WriteFile(filepath.Join(tmp, "src", "lib.rs"), nil, 0o600),
	)
	if err != nil {
		return fmt.Errorf("make a package: %w", err)
	}
	if _, err := localsolve.Command(ctx, tmp, "cargo", "vendor", "--quiet", "vendor"); err != nil {
		return err
	}
	laid := filepath.Join(tmp, "vendor", s.Name)
	data, err := os.ReadFile(filepath.Join(laid, ".cargo-checksum.json"))
	if err != nil {
		return fmt.Errorf("read the crate's sum: %w", err)
	}
	var sums struct{ Package string }
	if err := json.Unmarshal(data, &sums); err != nil {
		return fmt.Errorf("read the crate's sum: %w", err)
	}
	if sums.Package != s.Sum {
		return fmt.Errorf("%s has the sum %s, want %s", s.Name, sums.Package, s.Sum)
	}
	if err := os.CopyFS(dir, os.DirFS(laid)); err != nil {
		return fmt.Errorf("copy %s: %w", s.Name, err)
	}
	return os.Remove(filepath.Join(dir, ".cargo-checksum.json"))
}
