package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/postgres"
	"github.com/yudai-dev/yudai/test/require"
)

// database is a PostgreSQL server with a database of a user who has no other right.
type database struct {
	*postgres.Server
	t *testing.T
	// dsn is the user's, and root the superuser's in the same database.
	dsn, root string
}

// newDatabase starts one, which ends with the test.
func newDatabase(t *testing.T) *database {
	t.Helper()
	require.Need(t, "postgres", postgres.Missing())
	s, err := postgres.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	d := &database{Server: s, t: t, root: strings.ReplaceAll(s.DSN("public"), "dbname=postgres", "dbname=solves")}
	d.dsn = strings.ReplaceAll(d.root, "user=yudai", "user=app")
	d.sql(s.DSN("public"), "create role app login")
	d.sql(s.DSN("public"), "create database solves owner app")
	return d
}

// sql does something in a database, and returns the first value that comes back.
func (d *database) sql(dsn, text string) (value string) {
	d.t.Helper()
	conn, err := pgx.Connect(d.t.Context(), dsn)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(d.t.Context())) }()
	rows, err := conn.Query(d.t.Context(), text)
	if err != nil {
		d.t.Fatal(err)
	}
	for rows.Next() {
		if err := rows.Scan(&value); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		d.t.Fatalf("%s: %v", text, err)
	}
	return value
}

// stored lets the world's program store in the database.
func (w *world) stored(d *database) {
	w.cfg.Store.Engine, w.env["YUDAI_STORE_DSN"] = "postgres", d.dsn
}

// awaitLines waits until transcripts have that many messages.
func (d *database) awaitLines(w *world, messages string) {
	w.poll(30*time.Second, func() bool {
		return d.sql(d.root, `select (coalesce(sum(regexp_count(convert_from(lines, 'UTF8'), E'\n')), 0) >= `+messages+")::text from transcript") == "true"
	})
}

// TestKilledRunGoesOnPostgres: the process is killed between two steps of a run. The next one, at once, goes on with the next step.
func TestKilledRunGoesOnPostgres(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	d := newDatabase(t)
	a, s := load(t, "crash/slow")
	w := newWorld(t, a)
	w.stored(d)
	first := w.startProcess()
	w.openIssue(a)
	w.trigger(s)
	d.awaitLines(w, "4")
	first.kill()

	srv, _ := w.serve()
	v := w.final(srv, time.Minute)
	w.checkSolve(v, s)
	w.checkTexts(s, 0)
	if r := v.Runs[0]; r.Attempt != 1 || r.Progress.Usage.Calls != 4 {
		t.Errorf("attempt %d with %d calls, want the first with 4: none is paid twice", r.Attempt, r.Progress.Usage.Calls)
	}
	w.checkOneOfEach()
	w.checkOperations("http://"+srv.Addr(), v.Solve.ID)
	if text := first.log.String() + w.log.String(); strings.Contains(text, d.dsn) {
		t.Error("the log has the connection string")
	}
}

// checkOperations: what operators ask is answered as on a file, or refused with what to do instead.
func (w *world) checkOperations(base string, id solve.ID) {
	w.t.Helper()
	token, getenv := w.env["YUDAI_API_TOKEN"], func(k string) string { return w.env[k] }
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/readyz":                          {200, "ready"},
		"/metrics":                         {200, "yudai_store_bytes"},
		"/solve/" + string(id) + "/bundle": {200, "statement"},
		"/admin/backup":                    {501, "pg_dump"},
	} {
		if status, text := request(w.t, "GET", base+path, token, ""); status != want.status || !strings.Contains(string(text), want.text) {
			w.t.Errorf("%s answers %d without %q: %.200s", path, status, want.text, text)
		}
	}
	if rates, err := server.TrackRecord(w.t.Context(), w.cfg, base, w.repo.FullName(), getenv); err != nil || len(rates) != 1 {
		w.t.Errorf("track record %v, %v", rates, err)
	}
	const nobody = "http://127.0.0.1:1"
	if _, err := server.TrackRecord(w.t.Context(), w.cfg, nobody, w.repo.FullName(), getenv); err == nil || !strings.Contains(err.Error(), "start yudai serve") {
		w.t.Errorf("track record without a server: %v", err)
	}
	if _, err := server.Backup(w.t.Context(), w.cfg, "", getenv, io.Discard); err == nil || !strings.Contains(err.Error(), "pg_dump") {
		w.t.Errorf("backup: %v", err)
	}
}

// TestServeSaysWhyItCannotOpenItsDatabase starts `yudai serve` on databases that it must not touch: it ends at once and says
// in one line what is wrong, which setting says so, and what to do. Nothing is changed, and no password is shown.
func TestServeSaysWhyItCannotOpenItsDatabase(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	d := newDatabase(t)
	a, _ := load(t, "crash/slow")
	w := newWorld(t, a)
	w.stored(d)
	_, stop := w.serve() // makes the tables
	stop()
	for _, text := range []string{
		"create schema other", "create table other.solve (id text)", "grant usage, create on schema other to app", "create role nobody_here login",
	} {
		d.sql(d.root, text)
	}
	file := filepath.Join(w.dir, "dsn")
	w.must(os.WriteFile(file, []byte("\n"), 0o600))
	with := func(old, fresh string) string { return strings.ReplaceAll(d.dsn, old, fresh) }
	meta := func(name, value string) string {
		return "update meta set value = '" + value + "' where name = '" + name + "'"
	}
	for name, c := range map[string]struct {
		dsn, file string
		spoil     string // undone after
		words     []string
	}{
		"nothing set":          {"", "", "", []string{"YUDAI_STORE_DSN (store.dsn_env) is empty", "postgres://"}},
		"no such file":         {"", filepath.Join(w.dir, "none"), "", []string{"read store.dsn_file"}},
		"empty file":           {"", file, "", []string{file + " (store.dsn_file) is empty"}},
		"no connection string": {"secret", "", "", []string{"store.dsn_env", "cannot be read", "postgres://"}},
		"a slash in it":        {"postgres://a:sec/ret@host/x", "", "", []string{"store.dsn_env", "cannot be read"}},
		"no server":            {"postgres://a:secret@/x?host=/nowhere", "", "", []string{`"x" on /nowhere`, "start the server, or correct"}},
		"no database":          {with("dbname=solves", "dbname=none"), "", "", []string{"createdb none", "store.dsn_env"}},
		"no user":              {with("user=app", "user=none"), "", "", []string{"correct the user and the password"}},
		"no rights":            {with("user=app", "user=nobody_here"), "", "", []string{"permission denied", "own the tables", `to "nobody_here"`, "store.dsn_env"}},
		"tables of others":     {with("public", "other"), "", "", []string{"not those of a yudai", "a database of its own"}},
		"newer schema":         {d.dsn, "", meta("version", "999"), []string{"newer yudai", "version 999", "store.dsn_env"}},
		"another installation": {d.dsn, "", meta("installation", "GitHub App 0"), []string{`belongs to "GitHub App 0"`, "store.dsn_env"}},
	} {
		w.env["YUDAI_STORE_DSN"], w.cfg.Store.DSNFile = c.dsn, c.file
		before := d.sql(d.root, state)
		if c.spoil != "" {
			d.sql(d.root, c.spoil)
		}
		spoilt := d.sql(d.root, state)
		text, code := w.serveInVain()
		if code != 2 || strings.Count(strings.TrimSpace(text), "\n") > 0 || strings.Contains(text, "secret") || strings.Contains(text, "sec/ret") {
			t.Errorf("%s: exit code %d, or not one line without a password:\n%s", name, code, text)
		}
		for _, word := range c.words {
			if !strings.Contains(text, word) {
				t.Errorf("%s: %q is not said:\n%s", name, word, text)
			}
		}
		if after := d.sql(d.root, state); after != spoilt {
			t.Errorf("%s: it was changed:\n%s\n%s", name, spoilt, after)
		}
		for _, undo := range strings.Split(before, ";")[1:] {
			d.sql(d.root, undo)
		}
	}
}

// state lists all tables, and then, after semicolons, how to bring the notes of the store back.
const state = `select (select string_agg(relnamespace || '.' || relname, ' ' order by oid) from pg_class where relkind = 'r') ||
	(select string_agg(format('; update meta set value = %L where name = %L', value, name), '' order by name) from meta)`

// TestOneNodeForADatabase: a second process is refused in one line, which says who is there, and the first goes on. When the
// first is lost with its disk, another one takes over as soon as the lease has run out.
func TestOneNodeForADatabase(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	d := newDatabase(t)
	a, s := load(t, "crash/slow")
	w := newWorld(t, a)
	w.stored(d)
	w.cfg.Solver.LeaseTime = 10 * time.Second
	first := w.startProcess()
	text, code := w.serveInVain()
	if code != 2 || !strings.Contains(text, "another yudai uses "+filepath.Dir(w.cfg.Store.Path)) || !strings.Contains(text, "store.path") {
		t.Errorf("in the same directory: exit code %d: %s", code, text)
	}
	w.cfg.Store.Path, w.cfg.Sandbox.Local.Dir = filepath.Join(w.dir, "elsewhere", "yudai.db"), filepath.Join(w.dir, "sandboxes-elsewhere")
	text, code = w.serveInVain()
	if code != 2 || !strings.Contains(text, "waiting for the lease") || !strings.Contains(text, "works on it") ||
		!strings.Contains(text, fmt.Sprintf("process %d;", first.cmd.Process.Pid)) || !strings.Contains(text, "stop that one") {
		t.Errorf("elsewhere: exit code %d: %s", code, text)
	}
	w.openIssue(a)
	w.trigger(s)
	d.awaitLines(w, "4")
	first.kill()

	srv, _ := w.serve()
	v := w.final(srv, 90*time.Second)
	w.checkSolve(v, s)
	w.checkTexts(s, 0)
	if r := v.Runs[0]; r.Attempt != 2 {
		t.Errorf("attempt %d: its sandbox was lost", r.Attempt)
	}
	w.checkOneOfEach()
}

// TestDatabaseIsKilled in the middle of a solve, while a webhook comes: that is answered 503 and recovered, the run goes on, and there is
// one of everything.
func TestDatabaseIsKilled(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	d := newDatabase(t)
	a, s := load(t, "crash/slow")
	w := newWorld(t, a)
	w.stored(d)
	w.cfg.Solver.LeaseTime = 2 * time.Minute // longer than the outage, also on a busy machine
	w.cfg.GitHub.Recovery.Every, w.cfg.GitHub.Recovery.ScanEvery = 300*time.Millisecond, 0
	srv, _ := w.serve()
	w.openIssue(a)
	one := w.issue
	w.trigger(s)
	d.awaitLines(w, "4")
	w.must(d.Halt(t.Context()))
	two := w.issueIs("another fault")
	w.label(two)
	w.poll(30*time.Second, func() bool {
		for _, got := range w.hub.Deliveries(w.app) {
			if got.Done && got.Action == "labeled" && got.Status == http.StatusServiceUnavailable {
				return true
			}
		}
		return false
	})
	if status, text := request(t, "GET", "http://"+srv.Addr()+"/readyz", "", ""); status != 503 || !strings.Contains(string(text), "the store does not answer") {
		t.Errorf("/readyz answers %d: %s", status, text)
	}
	w.must(d.Launch(t.Context()))
	for _, number := range []int{one, two} {
		v := w.solved(srv, number)
		if r := v.Runs[0]; r.Attempt != 1 || r.Progress.Usage.Calls != 4 {
			t.Errorf("#%d: attempt %d with %d calls, want the first with 4", number, r.Attempt, r.Progress.Usage.Calls)
		}
	}
	if n := len(w.pulls()); n != 2 {
		t.Errorf("%d pull requests, want 2", n)
	}
	if !strings.Contains(w.log.String(), "missed delivery found") {
		t.Error("the delivery was not recovered")
	}
}

// TestDatabaseStaysAway for longer than the lease: the process ends with the exit code that asks for another start, which goes on.
func TestDatabaseStaysAway(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	d := newDatabase(t)
	a, s := load(t, "crash/slow")
	w := newWorld(t, a)
	w.stored(d)
	w.cfg.Solver.LeaseTime = 10 * time.Second // on a busy machine it must live until the outage
	first := w.startProcess()
	w.openIssue(a)
	w.trigger(s)
	d.awaitLines(w, "4")
	w.must(d.Halt(t.Context()))
	_ = first.cmd.Wait() // the code says how it ended
	if code := first.cmd.ProcessState.ExitCode(); code != 75 {
		t.Errorf("exit code %d: %s", code, first.log.String())
	}
	w.must(d.Launch(t.Context()))
	w.cfg.Solver.LeaseTime = time.Minute
	srv, _ := w.serve()
	v := w.final(srv, time.Minute)
	w.checkSolve(v, s)
	w.checkTexts(s, 0)
	if r := v.Runs[0]; r.Attempt != 1 || r.Progress.Usage.Calls > 5 {
		t.Errorf("attempt %d with %d calls", r.Attempt, r.Progress.Usage.Calls)
	}
	w.checkOneOfEach()
}
