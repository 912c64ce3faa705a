// Package reconcile finds what webhooks did not tell, by comparing GitHub with the store.
package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

// Store is what a [Reconciler] needs of the store.
type Store interface {
	handlers.Accepter
	UnknownDeliveries(ctx context.Context, guids []string) ([]string, error)
	Healed(ctx context.Context) (time.Time, error)
	SetHealed(ctx context.Context, at time.Time) error

	Solve(ctx context.Context, id solve.ID) (solve.Solve, error)
	LatestSolve(ctx context.Context, repoID int64, issue int) (solve.Solve, error)
	LiveSolves(ctx context.Context) ([]solve.Solve, error)
	Create(ctx context.Context, s solve.Solve) (stored solve.Solve, created bool, err error)

	Effect(ctx context.Context, key string) (solve.Effect, error)
	RenewEffect(ctx context.Context, key string) error
}

// Reconciler recovers what was missed: deliveries that never arrived, progress comments
// that somebody deleted, labels without a solve, orphan branches. Nothing waits for it, and
// what it cannot do now it tries again at its next turn. All exported fields are required.
type Reconciler struct {
	Config ghapp.RecoveryConfig
	Lag    time.Duration // how long GitHub may not show what was just written
	App    *ghapp.App
	Store  Store
	Writer *ghapp.Writer
	// Handlers are those of webhooks; what they ask for goes to the accepter.
	Handlers func(handlers.Accepter) []githubapp.EventHandler
	Labels   map[string]string // trigger label: profile
	Branch   string            // the template of solves' branches

	// seen are the deliveries that were read already, with the time they were sent.
	seen map[string]time.Time

	mu       sync.Mutex
	scanning bool
	nextScan time.Time // when the next scan is due
}

// Run looks at once and at each tick until ctx ends, and waits for the scan that is under way.
func (r *Reconciler) Run(ctx context.Context) error {
	if r.Config.Every == 0 {
		return nil
	}
	r.seen = map[string]time.Time{}
	var scans sync.WaitGroup
	defer scans.Wait()
	ticker := time.NewTicker(r.Config.Every)
	defer ticker.Stop()
	for {
		looked, err := r.missedDeliveries(ctx)
		warn(ctx, err, "missed deliveries not all looked for")
		warn(ctx, r.renewComments(ctx), "progress comments not all looked for")
		if looked && r.startScan() { // what the log still shows is left to the log
			scans.Go(func() { r.endScan(ctx, r.scan(ctx)) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// warn logs a turn that failed.
func warn(ctx context.Context, err error, message string) {
	if err != nil && ctx.Err() == nil {
		zerolog.Ctx(ctx).Warn().Str(logkey.Error, ghapp.Redact(err.Error())).Msg(message)
	}
}

// renewComments has the progress comments of live solves written again if somebody deleted
// them and no event told so.
func (r *Reconciler) renewComments(ctx context.Context) error {
	live, err := r.Store.LiveSolves(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, s := range live {
		key := string(s.ID) + "/" + string(solve.EffectNotice)
		e, err := r.Store.Effect(ctx, key)
		if err != nil || e.State != solve.EffectApplied || e.Receipt.ID == 0 || time.Since(e.Done) < r.Lag {
			continue // to be written, or written a moment ago
		}
		gone, err := r.App.CommentGone(ctx, s.Repo, e.Receipt.ID)
		if err == nil && gone {
			zerolog.Ctx(ctx).Info().Str(logkey.SolveID, string(s.ID)).Str(logkey.Repo, s.Repo.String()).
				Msg("progress comment was deleted, writing it again")
			err = r.Store.RenewEffect(ctx, key)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
