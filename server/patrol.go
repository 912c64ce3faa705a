package server

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
func (h *healer) startWalk() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cfg.ScanEvery == 0 || h.walking || time.Now().Before(h.walk) {
		return false
	}
	h.walking = true
	return true
}

// endWalk decides when the next walk begins: at the next turn if this one met a fault
// that may pass.
func (h *healer) endWalk(err error, ctx context.Context) {
	complain(ctx, err, "repositories not all walked through")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.walking = false
	if !passing(err) {
		h.walk = time.Now().Add(h.cfg.ScanEvery)
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
func (h *healer) patrol(ctx context.Context) error {
	installations, err := h.app.Installations(ctx)
	failed := []error{err}
	for _, installation := range installations {
		failed = append(failed, h.visit(ctx, installation))
	}
	return errors.Join(failed...)
}

func (h *healer) visit(ctx context.Context, installation int64) error {
	repos, err := h.app.Repos(ctx, installation)
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
		err := errors.Join(h.labelled(ctx, repo), h.strays(ctx, repo))
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
func (h *healer) labelled(ctx context.Context, repo solve.Repo) error {
	for _, label := range slices.Sorted(maps.Keys(h.labels)) {
		issues, err := h.app.Labelled(ctx, repo, label)
		if err != nil {
			return err
		}
		for _, issue := range issues {
			_, err := h.store.LatestSolve(ctx, repo.ID, issue.Number)
			if errors.Is(err, solve.ErrNotFound) {
				err = h.take(ctx, repo, issue, label)
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
func (h *healer) take(ctx context.Context, repo solve.Repo, issue solve.Issue, label string) error {
	log := zerolog.Ctx(ctx).With().Str("repo", repo.String()).Logger()
	actor, at, err := h.app.LabelledBy(ctx, repo, issue.Number, label)
	if err != nil {
		return err
	}
	if actor == "" {
		log.Info().Msg("label left alone: no person is known to have set it")
		return nil
	}
	healed, err := h.store.Healed(ctx)
	if err != nil || !at.Before(healed.Add(-overlap)) {
		return err // its delivery can still arrive, or be found in the log
	}
	answered, err := h.app.Answered(ctx, repo, issue.Number, at)
	if err != nil || answered {
		return err // by a process whose store this is not
	}
	now := time.Now()
	s, created, err := h.store.Create(ctx, solve.Solve{
		ID: solve.ID(xid.New().String()), Repo: repo, Issue: issue.Pinned(), State: solve.StateQueued, Created: now,
		Request: solve.Request{Profile: h.labels[label]},
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
func (h *healer) strays(ctx context.Context, repo solve.Repo) error {
	prefix, _, _ := strings.Cut(h.branch, "{")
	heads, err := h.app.Heads(ctx, repo, prefix)
	if err != nil {
		return err
	}
	for _, head := range heads {
		m := idInName.FindStringSubmatch(head.Name)
		if m == nil || head.Name == repo.DefaultBranch {
			continue
		}
		stray, err := h.stray(ctx, repo, head, solve.ID(m[1]))
		if err == nil && stray {
			zerolog.Ctx(ctx).Info().Str("repo", repo.String()).Str("solve_id", m[1]).Str("sha", head.SHA).Msg("claim branch left behind, deleting it")
			err = h.writer.RemoveStray(ctx, repo, head)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stray says whether a branch is nothing but the claim of a solve that needs it no more.
func (h *healer) stray(ctx context.Context, repo solve.Repo, head ghapp.Head, id solve.ID) (bool, error) {
	s, err := h.store.Solve(ctx, id)
	unknown := errors.Is(err, solve.ErrNotFound)
	switch {
	case unknown:
	case err != nil:
		return false, err
	case s.Repo.ID != repo.ID, !s.State.Final(), s.State == solve.StateSolved, s.Pull != nil, s.Target() != nil, time.Since(s.Ended) < strayAge:
		return false, nil
	}
	live, err := h.store.LiveSolves(ctx)
	if err != nil || slices.ContainsFunc(live, func(s solve.Solve) bool { return s.Repo.ID == repo.ID && s.Branch == head.Name }) {
		return false, err
	}
	since, err := h.app.ClaimSince(ctx, repo, head.SHA, id)
	return err == nil && !since.IsZero() && time.Since(since) >= strayAge, err
}
