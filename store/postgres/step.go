package postgres

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/solve"
)

// Step appends lines to the run's transcript and stores the progress, in one
// transaction. It locks the run alone.
func (s *Store) Step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, p solve.Progress) error {
	what := fmt.Sprintf("store step of run %d of solve", n)
	if token == 0 {
		return named(fmt.Errorf("no token: %w", solve.ErrLeaseLost), what, id)
	}
	return named(s.update(ctx, func(t *tx) error {
		r, err := t.run(id, n)
		if err != nil {
			return err
		}
		if err := solve.Fence(r.Lease, token, t.alive); err != nil {
			return err
		}
		if len(lines) > 0 {
			if _, err := t.do("insert into transcript (solve, run, attempt, lines) values ($1, $2, $3, $4)", id, n, r.Attempt, lines); err != nil {
				return err
			}
		}
		r.Progress = p
		return t.putRun(r)
	}), what, id)
}

// Transcript returns what was stored for the run's present attempt.
func (s *Store) Transcript(ctx context.Context, id solve.ID, n int) (out []byte, err error) {
	err = s.view(ctx, func(t *tx) error {
		r, err := t.run(id, n)
		if err != nil {
			return err
		}
		rows, err := t.db.Query(t.ctx, "select lines from transcript where solve = $1 and run = $2 and attempt = $3 order by n", id, n, r.Attempt)
		if err != nil {
			return err
		}
		parts, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		out = bytes.Join(parts, nil)
		return err
	})
	return out, err
}

// PutArtifact stores or replaces a file of a solve.
func (s *Store) PutArtifact(ctx context.Context, id solve.ID, name string, content []byte) error {
	if err := solve.CheckArtifact(id, name); err != nil {
		return fmt.Errorf("store artifact: %w", err)
	}
	if content == nil {
		content = []byte{}
	}
	return s.update(ctx, func(t *tx) error {
		if err := s.mustHold(t); err != nil { // a run's files have the same names in its next attempt
			return named(err, "store artifact "+name+" of solve", id)
		}
		n, err := t.do(`insert into artifact (solve, name, content) select id, $2, $3 from solve where id = $1
			on conflict (solve, name) do update set content = $3`, id, name, content)
		if err == nil && n == 0 {
			err = solve.ErrNotFound
		}
		return named(err, "store artifact "+name+" of solve", id)
	})
}

// Artifact returns a file of a solve; [solve.ErrNotFound] if there is none.
func (s *Store) Artifact(ctx context.Context, id solve.ID, name string) (out []byte, err error) {
	if err := solve.CheckArtifact(id, name); err != nil {
		return nil, fmt.Errorf("read artifact: %w", err)
	}
	err = s.view(ctx, func(t *tx) error {
		return t.get("select content from artifact where solve = $1 and name = $2", []any{id, name}, &out)
	})
	return out, named(err, "artifact "+name+" of solve", id)
}
