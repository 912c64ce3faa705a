package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

// repoPause is the time between two repositories, so that a scan uses little of the
// requests that the installation may make in an hour.
const repoPause = time.Second

// startScan says whether a scan is due, and notes that it has begun.
func (r *Reconciler) startScan() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Config.ScanEvery == 0 || r.scanning || time.Now().Before(r.nextScan) {
		return false
	}
	r.scanning = true
	return true
}

// endScan decides when the next scan begins: at the next turn if this one met a temporary
// fault.
func (r *Reconciler) endScan(ctx context.Context, err error) {
	warn(ctx, err, "repositories not all scanned")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scanning = false
	if !temporary(err) {
		r.nextScan = time.Now().Add(r.Config.ScanEvery)
	}
}

// temporary says whether asking again soon can help.
func temporary(err error) bool {
	var limit interface{ RetryAfter() time.Duration }
	var fault interface{ Temporary() bool }
	return errors.As(err, &limit) || errors.As(err, &fault) && fault.Temporary()
}

// scan looks at all repositories of all installations, one after the other. If one
// installation fails, the others are still scanned.
func (r *Reconciler) scan(ctx context.Context) error {
	installations, err := r.App.Installations(ctx)
	failed := []error{err}
	for _, installation := range installations {
		failed = append(failed, r.scanInstallation(ctx, installation))
	}
	return errors.Join(failed...)
}

func (r *Reconciler) scanInstallation(ctx context.Context, installation int64) error {
	repos, err := r.App.Repos(ctx, installation)
	if err != nil {
		return fmt.Errorf("installation %d: %w", installation, err)
	}
	var failed []error
	for i, repo := range repos {
		if i > 0 {
			if err := clock.Sleep(ctx, repoPause); err != nil {
				return err
			}
		}
		err := errors.Join(r.missedLabels(ctx, repo), r.removeOrphans(ctx, repo))
		if err == nil {
			continue
		}
		failed = append(failed, fmt.Errorf("%s: %w", repo, err))
		if temporary(err) {
			break // the same for its other repositories
		}
	}
	return errors.Join(failed...)
}

// missedLabels queues a solve for each open issue that has a trigger label and no solve:
// GitHub's log does not reach back to the event, but the label is still there.
func (r *Reconciler) missedLabels(ctx context.Context, repo solve.Repo) error {
	for _, label := range slices.Sorted(maps.Keys(r.Labels)) {
		issues, err := r.App.Labelled(ctx, repo, label)
		if err != nil {
			return err
		}
		for _, issue := range issues {
			_, err := r.Store.LatestSolve(ctx, repo.ID, issue.Number)
			if errors.Is(err, solve.ErrNotFound) {
				err = r.queueSolve(ctx, repo, issue, label)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// queueSolve queues a solve for the person who set the label. Their permission is checked
// as always.
func (r *Reconciler) queueSolve(ctx context.Context, repo solve.Repo, issue solve.Issue, label string) error {
	log := zerolog.Ctx(ctx).With().Str(logkey.Repo, repo.String()).Logger()
	actor, at, err := r.App.LabelledBy(ctx, repo, issue.Number, label)
	if err != nil {
		return err
	}
	if actor == "" {
		log.Info().Msg("label ignored: GitHub does not tell who set it")
		return nil
	}
	healed, err := r.Store.Healed(ctx)
	if err != nil || !at.Before(healed.Add(-overlap)) {
		return err // its delivery can still arrive, or be found in the log
	}
	answered, err := r.App.Answered(ctx, repo, issue.Number, at)
	if err != nil || answered {
		return err // by a process whose store this is not
	}
	now := time.Now()
	s, created, err := r.Store.Create(ctx, solve.Solve{
		ID: solve.ID(xid.New().String()), Repo: repo, Issue: issue.Pinned(), State: solve.StateQueued, Created: now,
		Request: solve.Request{Profile: r.Labels[label]},
		Trigger: solve.Trigger{
			Kind: solve.TriggerLabel, Label: label, Actor: actor, At: at,
			Key: fmt.Sprintf("scan:%d:%d:%s", repo.ID, issue.Number, strings.ToLower(label)),
		},
	})
	if err == nil && created {
		log.Info().Str(logkey.SolveID, string(s.ID)).Msg("label without a solve found")
	}
	return err
}
