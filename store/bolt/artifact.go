package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/solve"
)

func (s *Store) artifactPath(id solve.ID, name string) (string, error) {
	if err := solve.CheckArtifact(id, name); err != nil {
		return "", err
	}
	return filepath.Join(s.dir, "artifacts", string(id), name), nil
}

// PutArtifact stores or replaces a file of a solve. It is durable, whole, when this returns.
func (s *Store) PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error {
	path, err := s.artifactPath(id, name)
	if err == nil {
		_, err = read(ctx, s, func(t *tx) (bool, error) { return true, t.mustExist(id) })
	}
	if err == nil {
		err = durable.MakeDirs(filepath.Dir(path))
	}
	if err == nil {
		failpoint.Hit("store", "artifact", "before")
		err = durable.Write(path, func(f *os.File) error {
			_, err := f.Write(data)
			return err
		})
		failpoint.Hit("store", "artifact", "after")
	}
	if err != nil {
		return fmt.Errorf("store artifact: %w", err)
	}
	return nil
}

// Artifact returns a file of a solve; [solve.ErrNotFound] if there is none, or no more.
func (s *Store) Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := s.artifactPath(id, name)
	if err != nil {
		return nil, fmt.Errorf("read artifact: %w", err)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		err = solve.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read artifact %s of solve %s: %w", name, id, err)
	}
	return data, nil
}
