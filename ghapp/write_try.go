package ghapp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// Delays between tries of a write that failed without GitHub naming a time.
	firstRetryDelay   = time.Second
	longestRetryDelay = 5 * time.Minute
	// maxTries ends a write that GitHub answers with nothing but failures: five hours.
	maxTries = 64
	// maxNotVisible ends a write refused as if something just made did not exist: two minutes.
	maxNotVisible = 8
	// commitPause is how long a pull request waits for a commit that is not stored yet.
	commitPause = 5 * time.Second
)

// writeTry is one try to write one claimed effect.
type writeTry struct {
	w     *Writer
	queue *installationQueue
	e     solve.Effect
	// until is the claim's end by this process's clock.
	until time.Time
	view  report.View
	// commit is the champion's, for a pull request.
	commit solve.Commit
	// unknown: a call may have made something new. Its receipt is not stored, and
	// no look-up since then has missed it.
	unknown bool
	// called is when the last such call ended.
	called time.Time
	// doubtful: the try began with an unknown outcome. repeated: the try found
	// nothing and made the thing again.
	doubtful, repeated bool
	made               int64  // the check run made last
	failures           int    // of the effect, with this try; see countFailure
	evictions          uint64 // of the installation's clients, when the try began
	// doubleChecking: nothing is claimed, see [Writer.verify].
	doubleChecking bool
}

// errTooLate says that too little is left of the claim for another call.
var errTooLate = errors.New("the claim ends too soon for another call")

// permanentError ends an effect: writing it can never succeed. The reason may be shown.
type permanentError struct{ reason string }

func (e *permanentError) Error() string { return e.reason }

func permanent(format string, args ...any) error {
	return &permanentError{reason: fmt.Sprintf(format, args...)}
}

// retryLaterError asks for another try after a while.
type retryLaterError struct {
	after  time.Duration
	reason string
}

func (e *retryLaterError) Error() string { return e.reason }

// write claims an effect, makes it and stores how it went.
func (w *Writer) write(ctx context.Context, q *installationQueue, e solve.Effect) {
	t := &writeTry{w: w, queue: q, evictions: w.app.evicted(q.installation)}
	commitErr := t.readCommit(ctx, e) // before the claim, whose length depends on it
	now := w.app.now()
	t.until = now.Add(t.leaseTime())
	var err error
	t.e, err = w.store.ClaimEffect(ctx, e.Key, w.node, t.leaseTime())
	if err != nil {
		// A lost lease means that another writer has the effect, or that our lease is over.
		if ctx.Err() == nil && !errors.Is(err, solve.ErrLeaseLost) {
			w.log(ctx, e).Error().Str(logkey.Error, Redact(err.Error())).Msg("effect cannot be claimed")
		}
		_ = clock.Sleep(ctx, tick) // the loop sees that ctx ended
		return
	}
	t.unknown = !t.e.SentAt.IsZero()
	t.doubtful = t.unknown
	var receipt solve.Receipt
	switch {
	case commitErr != nil:
		err = commitErr
	case t.unknown && now.Before(w.visibleAt(t.e)):
		err = &retryLaterError{after: w.visibleAt(t.e).Sub(now), reason: t.e.Error}
	default:
		receipt, err = t.send(ctx)
	}
	if err := t.store(context.WithoutCancel(ctx), receipt, err); err != nil {
		// The claim ends, and the next try looks the write up.
		w.log(ctx, t.e).Warn().Str(logkey.Error, Redact(err.Error())).Msg("effect's outcome not stored")
	}
}

// readCommit reads the champion's commit, for a pull request.
func (t *writeTry) readCommit(ctx context.Context, e solve.Effect) error {
	if e.Kind != solve.EffectPull {
		return nil
	}
	data, err := t.w.store.Artifact(ctx, e.Solve, solve.CommitArtifact)
	if errors.Is(err, solve.ErrNotFound) {
		return t.missingCommit(ctx, e)
	}
	if err != nil {
		return fmt.Errorf("read the champion's commit: %w", err)
	}
	t.commit, err = solve.DecodeCommit(data)
	return err
}

// missingCommit waits while the solver may still store the commit.
func (t *writeTry) missingCommit(ctx context.Context, e solve.Effect) error {
	s, err := t.w.store.Solve(ctx, e.Solve)
	if err != nil && !errors.Is(err, solve.ErrNotFound) {
		return fmt.Errorf("read solve: %w", err)
	}
	if err != nil || s.State.Final() {
		return permanent("the champion's commit is not stored, and its solve has ended")
	}
	return &retryLaterError{after: commitPause, reason: "the champion's commit is not stored yet"}
}

// leaseTime allows for the write rate: a visible write may follow a git object of its
// own, and the commit of a pull request may need many objects.
func (t *writeTry) leaseTime() time.Duration {
	d := t.w.cfg.Lease + t.w.cfg.Interval
	objects := len(t.commit.Files)
	if t.commit.Tests != nil {
		objects += len(t.commit.Tests.Files)
	}
	if objects > 0 {
		d += time.Duration(objects)*(t.w.cfg.Interval/4+time.Second) + 4*t.w.cfg.Interval
	}
	return d
}

// send renders the newest state and writes it.
func (t *writeTry) send(ctx context.Context) (solve.Receipt, error) {
	var err error
	t.view, err = t.w.view(ctx, t.e)
	if errors.Is(err, solve.ErrNotFound) {
		return solve.Receipt{}, permanent("its solve is gone")
	}
	if err != nil {
		return solve.Receipt{}, &retryLaterError{after: retryDelay(t.countFailure()), reason: Redact(err.Error())}
	}
	switch t.e.Kind {
	case solve.EffectReact, solve.EffectDone:
		return t.react(ctx)
	case solve.EffectReply, solve.EffectNotice, solve.EffectFinal:
		return t.comment(ctx)
	case solve.EffectClaim:
		return t.reserveBranch(ctx)
	case solve.EffectCheck, solve.EffectRun:
		return t.check(ctx)
	case solve.EffectPull:
		return t.pullRequest(ctx)
	case solve.EffectRelease:
		return t.releaseBranch(ctx)
	default:
		return solve.Receipt{}, permanent("unknown kind of effect %q", t.e.Kind)
	}
}

// store stores how the try went.
func (t *writeTry) store(ctx context.Context, receipt solve.Receipt, err error) error {
	now, store := t.w.app.now(), t.w.store
	if err == nil {
		t.w.log(ctx, t.e).Debug().Msg("effect written")
		if t.repeated {
			t.w.checkLater(t, now)
		}
		t.w.forget(t.e.Key)
		return t.counted("written", store.FinishEffect(ctx, t.e.Key, t.e.Token, t.e.Wanted, receipt))
	}
	due, reason := t.retryAt(now, err)
	if due.IsZero() {
		t.w.log(ctx, t.e).Warn().Str(logkey.Reason, reason).Msg("effect given up")
		t.w.forget(t.e.Key)
		return t.counted("refused", store.KillEffect(ctx, t.e.Key, t.e.Token, reason))
	}
	if t.unknown && !t.called.IsZero() {
		due = later(due, t.called.Add(t.w.cfg.ListLag)) // lists count from the end of the call
	}
	t.w.log(ctx, t.e).Info().Str(logkey.Reason, reason).Dur(logkey.Duration, due.Sub(now)).Msg("effect will be tried again")
	if outcomeOf(err) == outcomePermission {
		t.w.remember(t.e.Key, func(m *effectMemory) { m.until, m.evictions = due, t.evictions })
		due = now // for the store: the permission may come earlier
	}
	return t.counted("later", store.RetryEffect(ctx, t.e.Key, t.e.Token, due.Sub(now), reason, t.unknown))
}

// counted reports an outcome that was stored.
func (t *writeTry) counted(outcome string, err error) error {
	if err == nil && t.w.Counted != nil {
		t.w.Counted(t.e.Kind, outcome)
	}
	return err
}

// retryAt decides when to try again; the zero time is never.
func (t *writeTry) retryAt(now time.Time, err error) (time.Time, string) {
	var gone *permanentError
	if errors.As(err, &gone) {
		return time.Time{}, gone.reason
	}
	var again *retryLaterError
	if errors.As(err, &again) {
		return now.Add(again.after), again.reason
	}
	reason := Redact(err.Error())
	if errors.Is(err, context.Canceled) {
		return now, reason // this process ends; the next one may begin at once
	}
	switch outcomeOf(err) {
	case outcomeLimited:
		var limit *LimitError
		errors.As(err, &limit)
		return later(limit.RetryAt(), now), reason
	case outcomeRefused:
		return time.Time{}, refusalText(err)
	case outcomeNotVisible:
		if t.countFailure() >= maxNotVisible {
			return time.Time{}, reason
		}
	default:
		if t.countFailure() >= maxTries {
			return time.Time{}, reason
		}
	}
	return now.Add(retryDelay(t.countFailure())), reason
}

// countFailure counts this try as a failure, once, and returns the failures of the
// effect since its last write or the start of this process. Rate limits and waiting
// for lists or the write rate do not count: they must neither drop a write nor
// delay it further.
func (t *writeTry) countFailure() int {
	if t.failures == 0 {
		t.w.remember(t.e.Key, func(m *effectMemory) {
			m.failures++
			t.failures = m.failures
		})
	}
	return t.failures
}

// retryDelay follows the given failure, counted from 1.
func retryDelay(failure int) time.Duration {
	return min(firstRetryDelay<<min(max(failure-1, 0), 20), longestRetryDelay)
}
