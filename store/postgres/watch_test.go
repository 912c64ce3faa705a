package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestWatchersLookByThemselves although nobody announces anything: an announcement may be lost.
func TestWatchersLookByThemselves(t *testing.T) {
	t.Parallel()
	watch := open(t, config(t)).Watch(t.Context())
	for range 2 {
		select {
		case <-watch:
		case <-time.After(time.Minute):
			t.Fatal("nobody told them")
		}
	}
}

// TestAFailedAnnouncementIsRepeated, without another commit.
func TestAFailedAnnouncementIsRepeated(t *testing.T) {
	t.Parallel()
	c := config(t)
	direct := c.DSN
	c.DSN += ",pg_catalog" // the schema comes first
	s, ctx := open(t, c), t.Context()
	sql(t, direct, `create sequence told;
		create function pg_notify(text, text) returns void language plpgsql as $$ begin
			if nextval('told') = 1 then raise exception 'no'; end if;
		end $$`)
	if err := s.Heartbeat(ctx, "n1", time.Hour); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, direct)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	patient(t, func() error {
		var n int
		err := conn.QueryRow(ctx, "select last_value from told").Scan(&n)
		if err == nil && n < 2 {
			err = errors.New("it was not repeated")
		}
		return err
	})
}
