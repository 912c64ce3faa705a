package replay

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/solve"
)

// clone is the repository that everything is cloned from.
type clone struct{ url string }

// Clone implements [prepare.Hub].
func (c clone) Clone(context.Context, solve.Repo) (string, git.Auth, func(context.Context) error, error) {
	return c.url, git.Auth{}, func(context.Context) error { return nil }, nil
}

// files are the artifacts that the preparation leaves. One goroutine uses them.
type files map[string][]byte

// PutArtifact implements [prepare.Store].
func (f files) PutArtifact(_ context.Context, _ solve.ID, name string, data []byte) error {
	f[name] = data
	return nil
}

// Artifact implements [prepare.Store].
func (f files) Artifact(_ context.Context, _ solve.ID, name string) ([]byte, error) {
	data, ok := f[name]
	if !ok {
		return nil, fmt.Errorf("artifact %s: %w", name, solve.ErrNotFound)
	}
	return data, nil
}
