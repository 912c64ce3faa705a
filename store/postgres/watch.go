package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yudai-dev/yudai/internal/clock"
)

// A commit of this process is told here at once; other nodes hear of it at most
// this often, since a NOTIFY holds up all other commits for a moment.
const announceEvery = 200 * time.Millisecond

// lookAgain is how often watchers are told even if nobody announces a change: the announcement, or its connection, may be lost.
const lookAgain = 2 * time.Second

const channel = "'yudai ' || current_schema()"

func (s *Store) changed() {
	s.dirty.Store(true)
	s.watchers.Signal()
}

// Watch returns a channel that gets a value after committed changes, of other nodes too.
func (s *Store) Watch(ctx context.Context) <-chan struct{} { return s.watchers.Watch(ctx) }

// announce tells other nodes of what was committed here, again if that fails.
func (s *Store) announce(ctx context.Context) {
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !s.dirty.Swap(false) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, lookAgain)
		if _, err := s.pool.Exec(limited, "select pg_notify("+channel+", '')"); err != nil {
			s.dirty.Store(true)
		}
		cancel()
	}
}

// remind tells the watchers of this process to look by themselves.
func (s *Store) remind(ctx context.Context) {
	for clock.Sleep(ctx, lookAgain) == nil {
		s.watchers.Signal()
	}
}

// listen tells the watchers of this process what other nodes announce.
func (s *Store) listen(ctx context.Context, at *pgx.ConnConfig) {
	for ctx.Err() == nil {
		_ = s.hear(ctx, at.Copy())
		_ = clock.Sleep(ctx, lookAgain)
	}
}

// hear passes announcements on until the connection fails.
func (s *Store) hear(ctx context.Context, at *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, at)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var name string
	if err := conn.QueryRow(ctx, "select "+channel).Scan(&name); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{name}.Sanitize()); err != nil {
		return err
	}
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
		s.watchers.Signal()
	}
}
