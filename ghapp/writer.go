package ghapp

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// tick is how often the store is asked for effects whose time has come; hints
// come on top.
const tick = time.Second

// EffectStore is what the writer needs of the store; the promises of each method
// are in package storetest.
type EffectStore interface {
	DueEffects(ctx context.Context) ([]solve.Effect, error)
	ClaimEffect(ctx context.Context, key, node string, ttl time.Duration) (solve.Effect, error)
	SendingEffect(ctx context.Context, key string, token uint64) error
	FinishEffect(ctx context.Context, key string, token, version uint64, r solve.Receipt) error
	RetryEffect(ctx context.Context, key string, token uint64, wait time.Duration, reason string, unknown bool) error
	KillEffect(ctx context.Context, key string, token uint64, reason string) error
	RenewEffect(ctx context.Context, key string) error
	Effect(ctx context.Context, key string) (solve.Effect, error)
	SolveEffects(ctx context.Context, id solve.ID) ([]solve.Effect, error)
	LiveSolves(ctx context.Context) ([]solve.Solve, error)
	Solve(ctx context.Context, id solve.ID) (solve.Solve, error)
	Runs(ctx context.Context, id solve.ID) ([]solve.Run, error)
	Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error)
	Watch(ctx context.Context) <-chan struct{}
}

// Writer makes the visible writes: one at a time per installation, in order of
// priority, paced, and never twice.
type Writer struct {
	// Counted is told of every write that was "written", "refused", or has to be tried
	// again "later"; nil is nobody.
	Counted func(kind solve.EffectKind, outcome string)
	// Sign writes the signature of a champion's commit, which it reads; nil leaves signing to GitHub.
	Sign func(signature io.Writer, commit io.Reader) error
	// Committer is the person who is named as the committer of what yudai publishes on this machine, with yudai
	// as its author; nil leaves both to GitHub, which names the App.
	Committer *Person

	app   *App
	store EffectStore
	cfg   WriteConfig
	node  string
	began time.Time

	mu           sync.Mutex
	queues       map[int64]*installationQueue // by installation
	memory       map[string]effectMemory      // by the effect's key
	doubleChecks []doubleCheck                // what was made again
}

// NewWriter makes a writer. node names this process in claims.
func NewWriter(app *App, store EffectStore, cfg WriteConfig, node string) *Writer {
	return &Writer{
		app: app, store: store, cfg: cfg, node: node, began: app.now(),
		queues: map[int64]*installationQueue{}, memory: map[string]effectMemory{},
	}
}

// Run writes until ctx ends, then waits for the call in flight. What could not
// be written stays in the store for the next writer.
func (w *Writer) Run(ctx context.Context) error {
	var writing sync.WaitGroup
	defer writing.Wait()
	hints := w.store.Watch(ctx)
	idle := make(chan struct{}, 1)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if err := w.start(ctx, &writing, idle); err != nil && ctx.Err() == nil {
			zerolog.Ctx(ctx).Error().Str(logkey.Error, Redact(err.Error())).Msg("effects cannot be read")
		}
		w.startDoubleChecks(ctx, &writing)
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-hints:
			if !ok {
				hints = nil
			}
		case <-idle:
		case <-ticker.C:
			if err := w.renewOldest(ctx); err != nil && ctx.Err() == nil {
				zerolog.Ctx(ctx).Error().Str(logkey.Error, Redact(err.Error())).Msg("old texts not renewed")
			}
		}
	}
}

// start gives every installation with an effect that can be written a goroutine.
func (w *Writer) start(ctx context.Context, writing *sync.WaitGroup, idle chan<- struct{}) error {
	due, err := w.store.DueEffects(ctx)
	if err != nil {
		return fmt.Errorf("read due effects: %w", err)
	}
	for installation, effects := range byInstallation(due) {
		q := w.queue(installation)
		if !q.writing.TryLock() {
			q.wake(effects)
			continue
		}
		if _, ok := w.nextEffect(ctx, q, effects); !ok {
			q.writing.Unlock()
			continue
		}
		writing.Go(func() {
			w.drain(ctx, q)
			q.writing.Unlock()
			select {
			case idle <- struct{}{}:
			default:
			}
		})
	}
	return nil
}

func byInstallation(due []solve.Effect) map[int64][]solve.Effect {
	out := map[int64][]solve.Effect{}
	for _, e := range due {
		out[e.Repo.Installation] = append(out[e.Repo.Installation], e)
	}
	return out
}

func (w *Writer) queue(installation int64) *installationQueue {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.queues[installation]
	if q == nil {
		q = newQueue(installation, newRateLimiter(w.cfg.Interval, w.cfg.PerHour, w.app.now()))
		w.queues[installation] = q
	}
	return q
}

func (w *Writer) view(ctx context.Context, e solve.Effect) (report.View, error) {
	if e.Solve == "" {
		return report.View{}, nil
	}
	s, err := w.store.Solve(ctx, e.Solve)
	if err != nil {
		return report.View{}, fmt.Errorf("read solve: %w", err)
	}
	runs, err := w.store.Runs(ctx, e.Solve)
	if err != nil {
		return report.View{}, fmt.Errorf("read runs: %w", err)
	}
	return report.View{Solve: s, Runs: runs, Now: w.app.now()}, nil
}

func (w *Writer) log(ctx context.Context, e solve.Effect) *zerolog.Logger {
	l := zerolog.Ctx(ctx).With().Str(logkey.SolveID, string(e.Solve)).Int64(logkey.InstallationID, e.Repo.Installation).
		Str(logkey.Repo, e.Repo.String()).Str(logkey.Event, string(e.Kind)).Int(logkey.Attempt, e.Tries).Logger()
	return &l
}
