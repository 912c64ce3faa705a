package postgres

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/solve"
)

// encode makes the stored form of a record. A jsonb holds no zero character: the
// sign for an unreadable one stands for it.
func encode(record any) ([]byte, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("write a %T: %w", record, err)
	}
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(data[i:], []byte(`\u0000`)) {
			copy(data[i:], `\ufffd`)
		}
		i++
	}
	return data, nil
}

// one reads a record; [solve.ErrNotFound] if there is none.
func one[T any](t *tx, sql string, args ...any) (out T, err error) {
	var data []byte
	if err = t.get(sql, args, &data); err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

// all reads records.
func all[T any](t *tx, sql string, args ...any) (out []T, err error) {
	rows, err := t.db.Query(t.ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (v T, err error) {
		var data []byte
		if err = row.Scan(&data); err == nil {
			err = json.Unmarshal(data, &v)
		}
		return v, err
	})
}

func (t *tx) solve(id solve.ID) (solve.Solve, error) {
	s, err := one[solve.Solve](t, t.locked("select record from solve where id = $1"), id)
	return s, named(err, "solve", id)
}

func (t *tx) run(id solve.ID, n int) (solve.Run, error) {
	r, err := one[solve.Run](t, t.locked("select record from run where solve = $1 and n = $2"), id, n)
	return r, named(err, fmt.Sprintf("run %d of solve", n), id)
}

func (t *tx) runs(id solve.ID) ([]solve.Run, error) {
	return all[solve.Run](t, t.locked("select record from run where solve = $1 order by n"), id)
}

// columns are those of a solve that change.
func columns(s solve.Solve) ([]any, error) {
	record, err := encode(s)
	if err != nil {
		return nil, err
	}
	brief, err := encode(s.Brief())
	return []any{
		s.ID, !s.State.Final(), s.Waiting(), s.State, stamp(s.Created), stamp(s.Started), stamp(s.Ended), brief, record,
	}, err
}

func (t *tx) putSolve(s solve.Solve) error {
	args, err := columns(s)
	if err == nil {
		_, err = t.do(`update solve set live = $2, waiting = $3, state = $4, created = $5, started = $6, ended = $7,
			brief = $8, record = $9 where id = $1`, args...)
	}
	return named(err, "write solve", s.ID)
}

func (t *tx) putRun(r solve.Run) error {
	record, err := encode(r)
	if err == nil {
		_, err = t.do(`insert into run (solve, n, state, active, final, node, wave, record)
			values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (solve, n) do update set
			state = $3, active = $4, final = $5, node = $6, wave = $7, record = $8`,
			r.Solve, r.N, r.State, r.State.Active(), r.State.Final(), r.Lease.Node, r.Experiment.Wave, record)
	}
	return named(err, fmt.Sprintf("write run %d of solve", r.N), r.Solve)
}
