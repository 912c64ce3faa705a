package memory

import (
	"context"
	"fmt"

	"github.com/yudai-dev/yudai/solve"
)

// Step appends lines to the run's transcript and stores the progress.
func (s *Store) Step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, p solve.Progress) error {
	at := s.now()
	if token == 0 {
		return lost("store step of run %d of solve %s: no token", n, id)
	}
	return s.update(ctx, func(d *data) error {
		r, err := d.run(id, n)
		if err != nil {
			return err
		}
		if err := solve.Fence(r.Lease, token, reader{d, at}.Alive); err != nil {
			return fmt.Errorf("store step of run %d of solve %s: %w", n, id, err)
		}
		k := attemptKey{runKey{id, n}, r.Attempt}
		set(d, d.transcripts, k, d.transcripts[k]+string(lines))
		r.Progress = p
		d.putRun(r)
		return nil
	})
}

// Transcript returns what was stored for the run's present attempt.
func (s *Store) Transcript(ctx context.Context, id solve.ID, n int) (out []byte, err error) {
	err = s.view(ctx, func(d *data) error {
		r, err := d.run(id, n)
		out = []byte(d.transcripts[attemptKey{runKey{id, n}, r.Attempt}])
		return err
	})
	return out, err
}

// PutArtifact stores or replaces a file of a solve.
func (s *Store) PutArtifact(ctx context.Context, id solve.ID, name string, content []byte) error {
	if err := solve.CheckArtifact(id, name); err != nil {
		return err
	}
	return s.update(ctx, func(d *data) error {
		if _, err := d.solve(id); err != nil {
			return fmt.Errorf("store artifact: %w", err)
		}
		set(d, d.artifacts, fileKey{id, name}, string(content))
		return nil
	})
}

// Artifact returns a file of a solve; [solve.ErrNotFound] if there is none.
func (s *Store) Artifact(ctx context.Context, id solve.ID, name string) (out []byte, err error) {
	if err := solve.CheckArtifact(id, name); err != nil {
		return nil, err
	}
	err = s.view(ctx, func(d *data) error {
		text, known := d.artifacts[fileKey{id, name}]
		if !known {
			return fmt.Errorf("artifact %s of solve %s: %w", name, id, solve.ErrNotFound)
		}
		out = []byte(text)
		return nil
	})
	return out, err
}
