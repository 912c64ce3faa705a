package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/yudai-dev/yudai/solve"
)

// migrationFiles are numbered from 1 without a gap. One that was released is never changed.
//
//go:embed migrations
var migrationFiles embed.FS

// migrations are the SQL texts in the order of their numbers.
func migrations() (out []string, err error) {
	list, err := migrationFiles.ReadDir("migrations")
	for i := range list {
		var text []byte
		if text, err = migrationFiles.ReadFile(fmt.Sprintf("migrations/%04d.sql", i+1)); err != nil {
			break
		}
		out = append(out, string(text))
	}
	return out, err
}

// migrate brings the schema up to date in one transaction, while no other node can. Who wants the database alone takes it then.
func (s *Store) migrate(ctx context.Context, conn *pgx.Conn) error {
	steps, err := migrations()
	if err != nil {
		return err
	}
	return pgx.BeginTxFunc(ctx, conn, writing, func(p pgx.Tx) error {
		t := &tx{db: p, ctx: ctx, clock: s.cfg.Now}
		if _, err := p.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended('yudai migrate ' || current_schema(), 0))"); err != nil {
			return err
		}
		at, err := t.version()
		if err != nil {
			return err
		}
		if at > len(steps) {
			return fmt.Errorf("%w: it has version %d, this yudai knows up to %d", errNewer, at, len(steps))
		}
		if err := t.checkInstallation(at, s.cfg.Installation); err != nil {
			return err
		}
		if at > 0 { // nobody works while the schema changes
			err = t.take(s.cfg, s.boot)
		}
		if err == nil && at < len(steps) {
			err = t.upgrade(steps, at, s.cfg.Installation)
		}
		if err == nil && at == 0 {
			err = t.take(s.cfg, s.boot)
		}
		return err
	})
}

// upgrade does the steps that the schema lacks.
func (t *tx) upgrade(steps []string, at int, installation string) error {
	if at == 0 {
		steps = append([]string{"create table meta (name text primary key, value text not null)"}, steps...)
	} else {
		steps = steps[at:]
	}
	for _, step := range steps {
		if _, err := t.db.Exec(t.ctx, step); err != nil {
			return err
		}
	}
	all, err := migrations()
	return errors.Join(err, t.setMeta("version", strconv.Itoa(len(all))), t.setMeta("installation", installation))
}

// version is the number of the last migration, 0 in a database without our tables.
func (t *tx) version() (n int, err error) {
	var ours, foreign bool
	err = t.get(`select to_regclass('meta') is not null, exists (select from pg_class
		where relnamespace = current_schema()::regnamespace and relname in ('solve', 'run', 'event', 'effect', 'node'))`, nil, &ours, &foreign)
	if err != nil {
		return 0, err
	}
	if !ours && foreign {
		return 0, errForeign
	}
	if !ours {
		return 0, nil
	}
	value, err := t.meta("version")
	var said *pgconn.PgError
	if errors.As(err, &said) && said.Code == noRight {
		return 0, err
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errForeign, err)
	}
	return strconv.Atoi(value)
}

// meta is a note of the store; [solve.ErrNotFound] if it was never made.
func (t *tx) meta(name string) (value string, err error) {
	return value, t.get("select value from meta where name = $1", []any{name}, &value)
}

// checkInstallation refuses the data of another yudai.
func (t *tx) checkInstallation(version int, mine string) error {
	if version == 0 {
		return nil
	}
	owner, err := t.meta("installation")
	switch {
	case err != nil && !errors.Is(err, solve.ErrNotFound):
		return err
	case mine == "" || owner == mine:
		return nil
	case owner == "":
		return t.setMeta("installation", mine)
	default:
		return fmt.Errorf("%w: it belongs to %q, this is %q", errOther, owner, mine)
	}
}
