package prepare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// Mirror is the one that the base was made from; it is asked for anew only if it is gone.
func (p *Preparer) Mirror(ctx context.Context, s solve.Solve) (*git.Mirror, error) {
	if m, err := p.git.Open(mirrorKey(s)); err == nil && m.Has(ctx, s.Base.SHA) {
		return m, nil
	}
	if err := ctx.Err(); err != nil { // nothing is known of the mirror
		return nil, err
	}
	return p.clone(ctx, s)
}

// Result is what a patch makes of the base, by this host's own git.
func (p *Preparer) Result(ctx context.Context, s solve.Solve, patch []byte) (git.Result, error) {
	m, err := p.Mirror(ctx, s)
	if err != nil {
		return git.Result{}, err
	}
	return m.Result(ctx, s.Base.SHA, patch)
}

// Merged is what a pull request with this head brought when the commit merged it, as a patch of the solve's base; git.ErrPatch if
// it does not apply there.
func (p *Preparer) Merged(ctx context.Context, s solve.Solve, commit, head string) ([]byte, error) {
	m, err := p.clone(ctx, s, commit, head)
	if err != nil {
		return nil, err
	}
	patch, err := m.Merged(ctx, commit, head)
	if err != nil {
		return nil, err
	}
	r, err := m.Result(ctx, s.Base.SHA, patch)
	return r.Diff, err
}

// clone brings the mirror on this host up to the base commit, and to others that are needed. The token that reads the
// repository is revoked before anything of it runs.
func (p *Preparer) clone(ctx context.Context, s solve.Solve, others ...string) (*git.Mirror, error) {
	url, auth, release, err := p.hub.Clone(ctx, s.Repo)
	if err != nil {
		return nil, fault.Outside{Err: err}
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := release(end); err != nil {
			zerolog.Ctx(ctx).Warn().Err(err).Msg("clone token not revoked, it ends within the hour")
		}
	}()
	failpoint.Hit("git", "mirror", "before")
	mirror, err := p.git.Mirror(ctx, mirrorKey(s), url, auth)
	failpoint.Hit("git", "mirror", "after")
	for _, sha := range append(others, s.Base.SHA) {
		if err == nil && !mirror.Has(ctx, sha) { // no branch holds it any more
			err = mirror.FetchCommit(ctx, url, auth, sha)
			if errors.Is(err, git.ErrMissing) {
				return nil, fmt.Errorf("clone %s: commit %s is not there", s.Repo, sha)
			}
		}
	}
	if err == nil {
		return mirror, nil
	}
	err = fmt.Errorf("clone %s: %w", s.Repo, err)
	if ctx.Err() != nil || errors.Is(err, git.ErrAuth) || errors.Is(err, git.ErrMissing) {
		return nil, err // another try has another token
	}
	return nil, fault.Outside{Err: unreachable{err}}
}

// unreachable is a fetch that failed for a reason that may pass: the server, or the way to it.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

// Temporary says that asking again can help.
func (u unreachable) Temporary() bool { return true }
