package server

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/reconcile"
	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/web"
)

// store is what the server's parts need of an engine, and what it needs itself. The promises are in storetest.
type store interface {
	api.Solves
	bundle.Store
	ghapp.EffectStore
	reconcile.Store
	solver.Store
	web.Store
	measuredStore
	// Prune removes what is older than store.keep_deliveries and store.keep_logs.
	Prune(ctx context.Context, now time.Time) error
	Close() error
}

// openStore opens the file.
func (s *Server) openStore() (store, error) {
	c := s.cfg.Store
	c.Ended = s.metrics.ended
	opened, err := bolt.Open(c)
	if err != nil {
		return nil, fmt.Errorf("store.path: %w", err)
	}
	return opened, nil
}

// backup writes a copy of the store; nil where the engine leaves that to other programs.
func (s *Server) backup() func(context.Context, io.Writer) error {
	if b, ok := s.store.(*bolt.Store); ok {
		return b.Backup
	}
	return nil
}
