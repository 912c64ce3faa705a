package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/yudai-dev/yudai/solve"
)

// Why a database is refused.
var (
	errOld     = errors.New("the server is too old")
	errStandby = errors.New("the server is a standby, which cannot be written")
	errSchema  = errors.New("the search path names no schema that is there")
	errNewer   = errors.New("a newer yudai has upgraded the schema")
	errForeign = errors.New("its tables are not those of a yudai")
	errOther   = errors.New("the database is another installation's")
)

const (
	oldestServer = 15
	perMajor     = 10000 // in PostgreSQL's version numbers
	noRight      = "42501"
)

// checkServer asks what the server is before anything is written.
func checkServer(ctx context.Context, conn *pgx.Conn) error {
	var version int
	var standby bool
	var schema *string
	const ask = "select current_setting('server_version_num')::int, pg_is_in_recovery(), current_schema()"
	err := conn.QueryRow(ctx, ask).Scan(&version, &standby, &schema)
	switch {
	case err != nil:
		return err
	case standby:
		return errStandby
	case schema == nil:
		return errSchema
	default:
		return checkVersion(version)
	}
}

func checkVersion(n int) error {
	if n < oldestServer*perMajor {
		return fmt.Errorf("%w: it is PostgreSQL %d", errOld, n/perMajor)
	}
	return nil
}

// openError says in one line why a database cannot be used, and what to do about it. It never shows a DSN,
// which may hold a password, not even one that cannot be read.
func openError(setting string, at *pgx.ConnConfig, err error) error {
	if setting == "" {
		setting = "the DSN"
	}
	if err == nil {
		return fmt.Errorf("open store: %s is empty: set it to postgres://user@host/database", setting)
	}
	text := solve.OneLine(err.Error())
	if at == nil {
		text = text[strings.LastIndex(text, "`")+1:]
		return fmt.Errorf("open store: %s cannot be read%s: write postgres://user@host/database", setting, text)
	}
	where := fmt.Sprintf("database %q on %s as user %q", at.Database, at.Host, at.User)
	return &refusal{fmt.Sprintf("open store: %s: %s: %s", where, text, advice(setting, at, err)), err}
}

// refusal is an error of one line that keeps its cause.
type refusal struct {
	text  string
	cause error
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.cause }

func advice(setting string, at *pgx.ConnConfig, err error) string {
	switch {
	case errors.Is(err, errOld):
		return fmt.Sprintf("let %s name PostgreSQL %d or newer", setting, oldestServer)
	case errors.Is(err, errStandby):
		return "let " + setting + " name the primary, or add target_session_attrs=read-write"
	case errors.Is(err, errSchema):
		return "create the schema, or correct search_path in " + setting
	case errors.Is(err, errNewer):
		return "start that yudai, or let " + setting + " name another database"
	case errors.Is(err, ErrTaken):
		return "stop that one: one process at a time is supported (docs/postgresql.md)"
	case errors.Is(err, errForeign), errors.Is(err, errOther):
		return "let " + setting + " name a database of its own"
	}
	var said *pgconn.PgError
	if !errors.As(err, &said) {
		return "start the server, or correct " + setting
	}
	switch said.Code {
	case "28P01", "28000":
		return "correct the user and the password in " + setting
	case "3D000":
		return fmt.Sprintf("create it (createdb %s), or correct %s", at.Database, setting)
	case noRight:
		return fmt.Sprintf("let the user of %s own the tables of yudai, and create them: grant create, usage on schema public to %s",
			setting, pgx.Identifier{at.User}.Sanitize())
	case "53300":
		return "raise max_connections of the server, or lower pool_max_conns in " + setting
	default:
		return "mend that, or let " + setting + " name another database"
	}
}
