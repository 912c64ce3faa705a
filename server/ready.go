package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/solve"
)

// readiness says whether this process can do its work now. That the sandbox driver
// works was checked before it began to listen.
type readiness struct {
	store interface {
		Commands(ctx context.Context) ([]solve.Command, error)
	}
	engine  interface{ Leased() time.Time }
	log     zerolog.Logger
	writing atomic.Bool // the GitHub writer runs
	ending  atomic.Bool
}

// onceAMinute is a log that takes one line a minute: anybody may ask for /readyz.
func onceAMinute(log zerolog.Logger) zerolog.Logger {
	return log.Sample(&zerolog.BurstSampler{Burst: 1, Period: time.Minute})
}

// check returns why not.
func (r *readiness) check(ctx context.Context) error {
	if r.ending.Load() {
		return errors.New("shutting down")
	}
	if _, err := r.store.Commands(ctx); err != nil {
		r.log.Warn().Err(err).Msg("the store does not answer") // the answer does not tell where it is
		return errors.New("the store does not answer")
	}
	if !r.engine.Leased().After(time.Now()) {
		return errors.New("the engine holds no lease: it is starting, or has lost it")
	}
	if !r.writing.Load() {
		return errors.New("the GitHub writer does not run")
	}
	return nil
}

// ServeHTTP answers 200, or 503 with the reason.
func (r *readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", plainText)
	w.Header().Set("Cache-Control", "no-store")
	ctx, cancel := context.WithTimeout(req.Context(), 5*time.Second)
	defer cancel()
	text := "ready"
	if err := r.check(ctx); err != nil {
		text = err.Error()
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	io.WriteString(w, text+"\n") //nolint:errcheck // nobody is left to tell
}

// write runs the GitHub writer, and says so meanwhile.
func (r *readiness) write(run func() error) error {
	r.writing.Store(true)
	defer r.writing.Store(false)
	return run()
}
