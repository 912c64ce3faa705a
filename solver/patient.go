package solver

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// patient is a store whose moment of weakness costs no run and no solve: what
// work needs of it is asked for again until it answers. It gives up after the
// length of the lease: a store that fails for so long has ended this process,
// unless only its disk is full.
// What is looked at every second anyway is not asked for twice, and changes of
// state have their own patience in [Engine.apply].
type patient struct {
	Store
	limit time.Duration
}

// pause is how long work waits for a store that failed.
const pause = time.Second

// insist calls the store until it answers or refuses.
func insist[T any](ctx context.Context, limit time.Duration, what string, call func(context.Context) (T, error)) (T, error) {
	end := time.Now().Add(limit)
	for {
		v, err := call(ctx)
		late := !time.Now().Add(pause).Before(end) && !full(err)
		if err == nil || fault.Decided(err) || ctx.Err() != nil || late {
			return v, err
		}
		zerolog.Ctx(ctx).Warn().Err(err).Str(logkey.Event, what).Msg("store does not answer yet")
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return v, err
		}
	}
}

// full says that the disk has no room: that is nobody's fault here, and ends.
// The lease is renewed all the while, in pages that are free.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// do is insist for a call without a value.
func (p patient) do(ctx context.Context, what string, call func(context.Context) error) error {
	_, err := insist(ctx, p.limit, what, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

func (p patient) Solve(ctx context.Context, id solve.ID) (solve.Solve, error) {
	return insist(ctx, p.limit, "solve", func(ctx context.Context) (solve.Solve, error) { return p.Store.Solve(ctx, id) })
}

func (p patient) Runs(ctx context.Context, id solve.ID) ([]solve.Run, error) {
	return insist(ctx, p.limit, "runs", func(ctx context.Context) ([]solve.Run, error) { return p.Store.Runs(ctx, id) })
}

func (p patient) Run(ctx context.Context, id solve.ID, n int) (solve.Run, error) {
	return insist(ctx, p.limit, "run", func(ctx context.Context) (solve.Run, error) { return p.Store.Run(ctx, id, n) })
}

func (p patient) Spent(ctx context.Context, since time.Time) ([]solve.Spending, error) {
	return insist(ctx, p.limit, "spent", func(ctx context.Context) ([]solve.Spending, error) { return p.Store.Spent(ctx, since) })
}

func (p patient) Effect(ctx context.Context, key string) (solve.Effect, error) {
	return insist(ctx, p.limit, "effect", func(ctx context.Context) (solve.Effect, error) { return p.Store.Effect(ctx, key) })
}

func (p patient) WithdrawEffect(ctx context.Context, key, reason string, at time.Time) (bool, error) {
	return insist(ctx, p.limit, "withdraw", func(ctx context.Context) (bool, error) {
		return p.Store.WithdrawEffect(ctx, key, reason, at)
	})
}

func (p patient) Transcript(ctx context.Context, id solve.ID, n int) ([]byte, error) {
	return insist(ctx, p.limit, "transcript", func(ctx context.Context) ([]byte, error) { return p.Store.Transcript(ctx, id, n) })
}

func (p patient) Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error) {
	return insist(ctx, p.limit, "artifact", func(ctx context.Context) ([]byte, error) { return p.Store.Artifact(ctx, id, name) })
}

func (p patient) PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error {
	return p.do(ctx, "artifact", func(ctx context.Context) error { return p.Store.PutArtifact(ctx, id, name, data) })
}

// Step may be asked for again: a step that was not committed is written over.
func (p patient) Step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, pr solve.Progress) error {
	return p.do(ctx, "step", func(ctx context.Context) error { return p.Store.Step(ctx, id, n, token, lines, pr) })
}
