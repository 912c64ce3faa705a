package postgres_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/store/postgres"
	"github.com/yudai-dev/yudai/store/storetest"
	server "github.com/yudai-dev/yudai/test/postgres"
	"github.com/yudai-dev/yudai/test/require"
)

var _ storetest.Store = (*postgres.Store)(nil)

// shared is the server of all tests that do not stop theirs; nil until one needs it.
var (
	shared   *server.Server
	starting sync.Once
)

func TestMain(m *testing.M) {
	if err := storetest.SetSequences(40); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	if shared != nil {
		if err := shared.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var schemas atomic.Int64

// config is a configuration with an empty schema.
func config(t *testing.T) postgres.Config {
	t.Helper()
	require.Need(t, "postgres", server.Missing())
	starting.Do(func() {
		var err error
		if shared, err = server.Start(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if shared == nil {
		t.Fatal("the server did not start")
	}
	return configOn(t, shared)
}

func configOn(t *testing.T, s *server.Server) postgres.Config {
	t.Helper()
	name := fmt.Sprintf("test%d", schemas.Add(1))
	sql(t, s.DSN("public"), "create schema "+name)
	return postgres.Config{DSN: s.DSN(name)}
}

// sql does something behind the store's back.
func sql(t *testing.T, dsn, text string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func open(t *testing.T, c postgres.Config) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestPromises(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Store {
		c := config(t)
		c.Now = now
		return open(t, c)
	})
}
