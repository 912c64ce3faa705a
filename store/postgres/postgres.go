// Package postgres is the store engine for several nodes: one PostgreSQL database,
// 15 or newer. It keeps every promise of package storetest.
//
// A record is a jsonb beside the columns that are looked for. What follows from an
// event is up to the rules of package solve: an operation locks what they ask for, a
// solve before its runs, and stores what they return in one transaction. Who gives
// work to nodes holds an advisory lock meanwhile, so that what it counts stays true.
//
// The database's clock decides about leases. Tokens carry the timeline of the
// database, since a failover may forget the newest. On another timeline or system the
// store doubts by itself what it holds (decision 0011).
package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/yudai-dev/yudai/internal/watch"
	"github.com/yudai-dev/yudai/solve"
)

// Config says which database.
type Config struct {
	// DSN is a connection string or URL of PostgreSQL. Setting names where it is set, for errors: they never show it.
	DSN, Setting string
	// Installation names the yudai that owns the data, such as its App's number. A
	// database of another is refused; "" does not ask.
	Installation string
	// Home names what a node keeps beside the database, and lets one process alone give out leases: the newest of a home, while no
	// process of another home lives. The caller's lock says that a home has one process. "" lets any number work together. Process
	// is what others are told.
	Home, Process string
	// KeepDeliveries is how long deliveries are kept, and KeepLogs the transcripts and artifacts of ended solves.
	KeepDeliveries, KeepLogs time.Duration
	// Now stands for the database's clock in tests; nil is the database's.
	Now func() time.Time
	// Ended is called after the commit that ended a solve; may be nil.
	Ended func(solve.Solve, []solve.Run)
}

// Store is the engine. Make one with [Open].
type Store struct {
	cfg   Config
	boot  string // of this process
	pool  *pgxpool.Pool
	floor atomic.Uint64 // tokens given out are above it
	// commits counts the transactions that changed something.
	commits atomic.Int64
	marks   atomic.Int64

	watchers watch.Watchers
	dirty    atomic.Bool // other nodes have not been told of a commit yet
	stop     context.CancelFunc
	work     sync.WaitGroup
	closing  sync.Once
	closed   atomic.Bool // nothing asks the database again
}

// Open connects, brings the schema up to date, and says in one line what is wrong
// otherwise; then nothing was changed.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	pool, err := pgxpool.ParseConfig(cfg.DSN)
	if err != nil || cfg.DSN == "" {
		return nil, openError(cfg.Setting, nil, err)
	}
	if strings.Contains(pool.ConnConfig.Database, "@") { // the end of a password with a slash, which no error may show
		return nil, openError(cfg.Setting, nil, errors.New(": write / in the password as %2F"))
	}
	s := &Store{cfg: cfg, boot: rand.Text()}
	if err := s.prepare(ctx, pool.ConnConfig); err != nil {
		return nil, openError(cfg.Setting, pool.ConnConfig, err)
	}
	pool.AfterConnect = s.recognise
	if s.pool, err = pgxpool.NewWithConfig(ctx, pool); err != nil {
		return nil, openError(cfg.Setting, pool.ConnConfig, err)
	}
	if err := s.pool.Ping(ctx); err != nil {
		s.pool.Close()
		return nil, openError(cfg.Setting, pool.ConnConfig, err)
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.work.Go(func() { s.announce(background) })
	s.work.Go(func() { s.remind(background) })
	s.work.Go(func() { s.listen(background, pool.ConnConfig) })
	return s, nil
}

// Close waits for what is under way and leaves the database. Safe to call twice.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closed.Store(true)
		s.stop()
		s.work.Wait()
		s.pool.Close()
	})
	return nil
}

// prepare does on one connection what comes before all others.
func (s *Store) prepare(ctx context.Context, at *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, at.Copy())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := checkServer(ctx, conn); err != nil {
		return err
	}
	if err := s.migrate(ctx, conn); err != nil {
		return fmt.Errorf("prepare the schema: %w", err)
	}
	return nil
}
