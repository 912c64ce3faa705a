package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rs/xid"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// stroll is the time between two repositories: a walk takes little of what the
	// installation may ask for in an hour.
	stroll = time.Second
	// strayAge is how old a claim, and how long over its solve, must be before its branch goes.
	strayAge = time.Hour
)

// idInName finds the solve that a branch is named after.
var idInName = regexp.MustCompile(`(?:^|[^0-9a-v])([0-9a-v]{20})(?:$|[^0-9a-v])`)

// startWalk says whether a walk is due, and notes that it has begun.
func (r *Reconciler) startWalk() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Config.ScanEvery == 0 || r.walking || time.Now().Before(r.walk) {
		return false
	}
	r.walking = true
	return true
}

// endWalk decides when the next walk begins: at the next turn if this one met a fault
// that may pass.
func (r *Reconciler) endWalk(err error, ctx context.Context) {
	complain(ctx, err, "repositories not all walked through")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.walking = false
	if !passing(err) {
		r.walk = time.Now().Add(r.Config.ScanEvery)
	}
}

// passing says whether asking again soon can help.
func passing(err error) bool {
	var limit interface{ RetryAfter() time.Duration }
	var fault interface{ Temporary() bool }
	return errors.As(err, &limit) || errors.As(err, &fault) && fault.Temporary()
}

// patrol walks through all repositories of all installations. What fails in one
// installation is no reason to leave out the next.
func (r *Reconciler) patrol(ctx context.Context) error {
	installations, err := r.App.Installations(ctx)
	failed := []error{err}
	for _, installation := range installations {
		failed = append(failed, r.visit(ctx, installation))
	}
	return errors.Join(failed...)
}

func (r *Reconciler) visit(ctx context.Context, installation int64) error {
	repos, err := r.App.Repos(ctx, installation)
	if err != nil {
		return fmt.Errorf("installation %d: %w", installation, err)
	}
	var failed []error
	for i, repo := range repos {
		if i > 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(stroll):
			}
		}
		err := errors.Join(r.labelled(ctx, repo), r.strays(ctx, repo))
		if err == nil {
			continue
		}
		failed = append(failed, fmt.Errorf("%s: %w", repo, err))
		if passing(err) {
			break // the same for its other repositories
		}
	}
	return errors.Join(failed...)
}

// labelled finds open issues that carry a trigger label and have no solve: the event is
// beyond what GitHub logs, but the label is still there.
func (r *Reconciler) labelled(ctx context.Context, repo solve.Repo) error {
	for _, label := range slices.Sorted(maps.Keys(r.Labels)) {
		issues, err := r.App.Labelled(ctx, repo, label)
		if err != nil {
			return err
		}
		for _, issue := range issues {
			_, err := r.Store.LatestSolve(ctx, repo.ID, issue.Number)
			if errors.Is(err, solve.ErrNotFound) {
				err = r.take(ctx, repo, issue, label)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// take queues a solve of a labelled issue for the person who set the label; whether they
// may is looked up as always.
func (r *Reconciler) take(ctx context.Context, repo solve.Repo, issue solve.Issue, label string) error {
	log := zerolog.Ctx(ctx).With().Str("repo", repo.String()).Logger()
	actor, at, err := r.App.LabelledBy(ctx, repo, issue.Number, label)
	if err != nil {
		return err
	}
	if actor == "" {
		log.Info().Msg("label left alone: no person is known to have set it")
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
		log.Info().Str("solve_id", string(s.ID)).Msg("label without a solve found")
	}
	return err
}

// strays deletes claim branches whose solve is unknown here, or over without a pull request.
func (r *Reconciler) strays(ctx context.Context, repo solve.Repo) error {
	prefix, _, _ := strings.Cut(r.Branch, "{")
	heads, err := r.App.Heads(ctx, repo, prefix)
	if err != nil {
		return err
	}
	for _, head := range heads {
		m := idInName.FindStringSubmatch(head.Name)
		if m == nil || head.Name == repo.DefaultBranch {
			continue
		}
		stray, err := r.stray(ctx, repo, head, solve.ID(m[1]))
		if err == nil && stray {
			zerolog.Ctx(ctx).Info().Str("repo", repo.String()).Str("solve_id", m[1]).Str("sha", head.SHA).Msg("claim branch left behind, deleting it")
			err = r.Writer.RemoveStray(ctx, repo, head)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stray says whether a branch is nothing but the claim of a solve that needs it no more.
func (r *Reconciler) stray(ctx context.Context, repo solve.Repo, head ghapp.Head, id solve.ID) (bool, error) {
	s, err := r.Store.Solve(ctx, id)
	unknown := errors.Is(err, solve.ErrNotFound)
	switch {
	case unknown:
	case err != nil:
		return false, err
	case s.Repo.ID != repo.ID, !s.State.Final(), s.State == solve.StateSolved, s.Pull != nil, s.Target() != nil, time.Since(s.Ended) < strayAge:
		return false, nil
	}
	live, err := r.Store.LiveSolves(ctx)
	if err != nil || slices.ContainsFunc(live, func(s solve.Solve) bool { return s.Repo.ID == repo.ID && s.Branch == head.Name }) {
		return false, err
	}
	since, err := r.App.ClaimSince(ctx, repo, head.SHA, id)
	return err == nil && !since.IsZero() && time.Since(since) >= strayAge, err
}
