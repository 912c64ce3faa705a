package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/store/postgres"
)

// state is what a refused start must not change: tables and notes.
func state(t *testing.T, c postgres.Config) (text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	err = conn.QueryRow(t.Context(), "select string_agg(relname, ' ' order by relname) from pg_class where relnamespace = current_schema()::regnamespace").Scan(&text)
	if strings.Contains(text, "meta_pkey") && err == nil {
		var notes string
		err = conn.QueryRow(t.Context(), "select string_agg(name || '=' || value, ' ' order by name) from meta").Scan(&notes)
		text += notes
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestARefusedDatabaseIsNotChanged and one line says which setting to mend, and how.
func TestARefusedDatabaseIsNotChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil string // done to a store of installation 1
		says  []string
	}{
		"newer schema":         {"update meta set value = '999' where name = 'version'", []string{"newer yudai", "version 999", "store.dsn"}},
		"another installation": {"update meta set value = '2' where name = 'installation'", []string{`belongs to "2"`, `this is "1"`, "store.dsn"}},
		"tables of others":     {"drop table meta", []string{"not those of a yudai", "store.dsn"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			cfg.Installation, cfg.Setting = "1", "store.dsn"
			if err := open(t, cfg).Close(); err != nil {
				t.Fatal(err)
			}
			sql(t, cfg.DSN, c.spoil)
			before := state(t, cfg)
			refused(t, cfg, c.says...)
			if after := state(t, cfg); after != before {
				t.Errorf("it was changed:\n%s\n%s", before, after)
			}
		})
	}
}

// refused opens a store in vain.
func refused(t *testing.T, c postgres.Config, says ...string) {
	t.Helper()
	s, err := postgres.Open(t.Context(), c)
	if err == nil {
		_ = s.Close()
		t.Fatal("it was opened")
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
		t.Errorf("not one line without a password: %q", err)
	}
}

func TestADatabaseThatCannotBeReached(t *testing.T) {
	t.Parallel()
	good := config(t)
	sql(t, good.DSN, "create role nobody_here login; create role locked_out")
	for name, c := range map[string]struct {
		dsn  string
		says []string
	}{
		"empty":      {"", []string{"store.dsn is empty", "postgres://"}},
		"no DSN":     {"postgres://a:secret@host:port/x", []string{"store.dsn cannot be read: invalid port: ", "postgres://"}},
		"a secret":   {"secret", []string{"store.dsn cannot be read: failed to parse", "postgres://"}},
		"a slash":    {"postgres://a:1/secret@host/x", []string{"store.dsn cannot be read: write / in the password as %2F", "postgres://"}},
		"no server":  {"postgres://a:secret@/x?host=/nowhere", []string{`"x" on /nowhere`, "start the server, or correct store.dsn"}},
		"no name":    {strings.Replace(good.DSN, "dbname=postgres", "dbname=none", 1), []string{"createdb none", "store.dsn"}},
		"no login":   {strings.Replace(good.DSN, "user=yudai", "user=locked_out", 1), []string{"correct the user and the password in store.dsn"}},
		"no rights":  {strings.Replace(good.DSN, "user=yudai", "user=nobody_here", 1), []string{"store.dsn"}},
		"not public": {strings.Split(strings.Replace(good.DSN, "user=yudai", "user=nobody_here", 1), " search_path")[0], []string{"permission denied", "grant create", `"nobody_here"`}},
		"no schema":  {strings.Split(good.DSN, " search_path")[0] + " search_path=nowhere", []string{"search_path"}},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, postgres.Config{DSN: c.dsn, Setting: "store.dsn"}, c.says...)
		})
	}
}
