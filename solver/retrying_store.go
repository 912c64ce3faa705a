package solver

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// retryingStore is a store whose moment of weakness costs no run and no solve: what
// work needs of it is asked for again until it answers. It gives up after the
// length of the lease: a store that fails for so long has ended this process,
// unless only its disk is full.
// What is looked at every second anyway is not asked for twice.
type retryingStore struct {
	Store
	limit  time.Duration
	halted <-chan struct{} // closed when the workers must stop
}

// storePause is how long work waits for a store that failed.
const storePause = time.Second

// retry calls the store until it answers or refuses.
func retry[T any](ctx context.Context, limit time.Duration, what string, call func(context.Context) (T, error)) (T, error) {
	end := time.Now().Add(limit)
	for {
		v, err := call(ctx)
		late := !time.Now().Add(storePause).Before(end) && !durable.NoRoom(err)
		if err == nil || fault.Decided(err) || ctx.Err() != nil || late {
			return v, err
		}
		zerolog.Ctx(ctx).Warn().Err(err).Str(logkey.Event, what).Msg("store does not answer yet")
		if clock.Sleep(ctx, storePause) != nil {
			return v, err
		}
	}
}

// do is retry for a call without a value.
func (r retryingStore) do(ctx context.Context, what string, call func(context.Context) error) error {
	_, err := retry(ctx, r.limit, what, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

func (r retryingStore) Solve(ctx context.Context, id solve.ID) (solve.Solve, error) {
	return retry(ctx, r.limit, "solve", func(ctx context.Context) (solve.Solve, error) { return r.Store.Solve(ctx, id) })
}

func (r retryingStore) Runs(ctx context.Context, id solve.ID) ([]solve.Run, error) {
	return retry(ctx, r.limit, "runs", func(ctx context.Context) ([]solve.Run, error) { return r.Store.Runs(ctx, id) })
}

func (r retryingStore) TrackRecords(ctx context.Context) ([]solve.TrackRecord, error) {
	return retry(ctx, r.limit, "track-records", r.Store.TrackRecords)
}

func (r retryingStore) Run(ctx context.Context, id solve.ID, n int) (solve.Run, error) {
	return retry(ctx, r.limit, "run", func(ctx context.Context) (solve.Run, error) { return r.Store.Run(ctx, id, n) })
}

func (r retryingStore) Spent(ctx context.Context, since time.Time) ([]solve.Spending, error) {
	return retry(ctx, r.limit, "spent", func(ctx context.Context) ([]solve.Spending, error) { return r.Store.Spent(ctx, since) })
}

func (r retryingStore) Effect(ctx context.Context, key string) (solve.Effect, error) {
	return retry(ctx, r.limit, "effect", func(ctx context.Context) (solve.Effect, error) { return r.Store.Effect(ctx, key) })
}

func (r retryingStore) WithdrawEffect(ctx context.Context, key, reason string) (bool, error) {
	return retry(ctx, r.limit, "withdraw", func(ctx context.Context) (bool, error) {
		return r.Store.WithdrawEffect(ctx, key, reason)
	})
}

func (r retryingStore) Transcript(ctx context.Context, id solve.ID, n int) ([]byte, error) {
	return retry(ctx, r.limit, "transcript", func(ctx context.Context) ([]byte, error) { return r.Store.Transcript(ctx, id, n) })
}

func (r retryingStore) Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error) {
	return retry(ctx, r.limit, "artifact", func(ctx context.Context) ([]byte, error) { return r.Store.Artifact(ctx, id, name) })
}

func (r retryingStore) PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error {
	return r.do(ctx, "artifact", func(ctx context.Context) error { return r.Store.PutArtifact(ctx, id, name, data) })
}

// Step may be asked for again: a step that was not committed is written over.
func (r retryingStore) Step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, pr solve.Progress) error {
	return r.do(ctx, "step", func(ctx context.Context) error { return r.Store.Step(ctx, id, n, token, lines, pr) })
}

// Apply writes a change under the lease. A store that fails is asked again for as
// long as this process has its lease, because nobody else ends what this node
// owns: on a full disk the lease can be renewed, in pages that are free, while a
// larger record finds no room. ctx may have ended: what is known is written all the same.
func (r retryingStore) Apply(ctx context.Context, c solve.Change) (solve.Solve, solve.Run, error) {
	for wait := storePause; ; wait = min(2*wait, 8*storePause) {
		write, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*r.limit)
		s, run, err := r.Store.Apply(write, c)
		cancel()
		if err == nil || fault.Decided(err) || fault.Stopping(ctx) {
			return s, run, err
		}
		zerolog.Ctx(ctx).Warn().Err(err).Str(logkey.Event, string(solve.NameOf(c.Event))).Msg("change not stored yet")
		select {
		case <-time.After(wait):
		case <-r.halted:
			return s, run, err
		}
	}
}
