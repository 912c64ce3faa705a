package ghapp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// backoff between tries of a write that failed without GitHub naming a time.
	firstBackoff   = time.Second
	longestBackoff = 5 * time.Minute
	// maxTries ends a write that GitHub answers with nothing but failures: five hours.
	maxTries = 64
	// maxEarly ends a write refused as if something just made did not exist: two minutes.
	maxEarly = 8
	// commitPause is how long a pull request waits for a commit that is not stored yet.
	commitPause = 5 * time.Second
)

// attempt is one try to write one claimed effect.
type attempt struct {
	w    *Writer
	lane *lane
	e    solve.Effect
	view report.View
	// commit is the champion's, for a pull request.
	commit solve.Commit
	// unknown: a call that makes something new may have been carried out, and it
	// has neither been looked up in vain since, nor is its receipt stored.
	unknown bool
	// called is when the last such call ended.
	called time.Time
	// doubtful: the try began with an unknown outcome; repeated: it looked in vain
	// and made the thing again.
	doubtful, repeated bool
	made               int64  // the check run made last
	failures           int    // with this try, if it failed; see fail
	evictions          uint64 // of the installation's clients, when the try began
	// verifying: nothing is claimed, see [Writer.verify].
	verifying bool
}

// tooLateError says that too little is left of the claim for another call.
type tooLateError struct {
	// at is when the pace allows the call; zero if the pace was not the reason.
	at time.Time
}

func (*tooLateError) Error() string { return "the claim ends too soon for another call" }

// deadError ends an effect: writing it can never succeed. The reason may be shown.
type deadError struct{ reason string }

func (e *deadError) Error() string { return e.reason }

func dead(format string, args ...any) error {
	return &deadError{reason: fmt.Sprintf(format, args...)}
}

// againError asks for another try after a while.
type againError struct {
	after  time.Duration
	reason string
}

func (e *againError) Error() string { return e.reason }

// write claims an effect, makes it and stores how it went.
func (w *Writer) write(ctx context.Context, l *lane, e solve.Effect) {
	a := &attempt{w: w, lane: l, evictions: w.app.evicted(l.installation)}
	commitErr := a.readCommit(ctx, e) // before the claim, whose length depends on it
	now := w.app.now()
	var err error
	a.e, err = w.store.ClaimEffect(ctx, e.Key, w.node, now, now.Add(a.leaseTime()))
	if err != nil {
		// With the lease lost another node has it, or our own lease is over.
		if ctx.Err() == nil && !errors.Is(err, solve.ErrLeaseLost) {
			w.log(ctx, e).Error().Str(logkey.Error, Redact(err.Error())).Msg("effect cannot be claimed")
		}
		sleep(ctx, tick)
		return
	}
	a.unknown = !a.e.SentAt.IsZero()
	a.doubtful = a.unknown
	var receipt solve.Receipt
	switch {
	case commitErr != nil:
		err = commitErr
	case a.unknown && now.Before(w.settled(a.e)):
		err = &againError{after: w.settled(a.e).Sub(now), reason: a.e.Error}
	default:
		receipt, err = a.send(ctx)
	}
	if err := a.settle(context.WithoutCancel(ctx), receipt, err); err != nil {
		// The claim runs out, and the next try looks the write up.
		w.log(ctx, a.e).Warn().Str(logkey.Error, Redact(err.Error())).Msg("effect's outcome not stored")
	}
}

// readCommit reads the champion's commit, for a pull request.
func (a *attempt) readCommit(ctx context.Context, e solve.Effect) error {
	if e.Kind != solve.EffectPull {
		return nil
	}
	data, err := a.w.store.Artifact(ctx, e.Solve, solve.CommitArtifact)
	if errors.Is(err, solve.ErrNotFound) {
		return a.missingCommit(ctx, e)
	}
	if err != nil {
		return fmt.Errorf("read the champion's commit: %w", err)
	}
	a.commit, err = solve.DecodeCommit(data)
	return err
}

// missingCommit waits while the solver may still store the commit.
func (a *attempt) missingCommit(ctx context.Context, e solve.Effect) error {
	s, err := a.w.store.Solve(ctx, e.Solve)
	if err != nil && !errors.Is(err, solve.ErrNotFound) {
		return fmt.Errorf("read solve: %w", err)
	}
	if err != nil || s.State.Final() {
		return dead("the champion's commit is not stored, and its solve has ended")
	}
	return &againError{after: commitPause, reason: "the champion's commit is not stored yet"}
}

// leaseTime allows for the pace: a visible write may follow a git object of its
// own. It is longer for a pull request: its commit may need many objects.
func (a *attempt) leaseTime() time.Duration {
	d := a.w.cfg.Lease + a.w.cfg.Interval
	if objects := len(a.commit.Files); objects > 0 {
		d += time.Duration(objects)*(a.w.cfg.Interval/4+time.Second) + 4*a.w.cfg.Interval
	}
	return d
}

// send renders the newest state and writes it.
func (a *attempt) send(ctx context.Context) (solve.Receipt, error) {
	var err error
	a.view, err = a.w.view(ctx, a.e)
	if errors.Is(err, solve.ErrNotFound) {
		return solve.Receipt{}, dead("its solve is gone")
	}
	if err != nil {
		return solve.Receipt{}, &againError{after: backoff(a.fail()), reason: Redact(err.Error())}
	}
	switch a.e.Kind {
	case solve.EffectReact, solve.EffectDone:
		return a.react(ctx)
	case solve.EffectReply, solve.EffectNotice, solve.EffectFinal:
		return a.comment(ctx)
	case solve.EffectClaim:
		return a.claim(ctx)
	case solve.EffectCheck, solve.EffectRun:
		return a.check(ctx)
	case solve.EffectPull:
		return a.pull(ctx)
	case solve.EffectRelease:
		return a.release(ctx)
	default:
		return solve.Receipt{}, dead("unknown kind of effect %q", a.e.Kind)
	}
}

// settle stores how the try went.
func (a *attempt) settle(ctx context.Context, receipt solve.Receipt, err error) error {
	now, store := a.w.app.now(), a.w.store
	if err == nil {
		a.w.log(ctx, a.e).Debug().Msg("effect written")
		if a.repeated {
			a.w.verifyLater(a, now)
		}
		a.w.memory.forget(a.e.Key)
		return store.FinishEffect(ctx, a.e.Key, a.e.Token, a.e.Wanted, receipt, now, now)
	}
	due, reason := a.next(now, err)
	if due.IsZero() {
		a.w.log(ctx, a.e).Warn().Str(logkey.Reason, reason).Msg("effect given up")
		a.w.memory.forget(a.e.Key)
		return store.KillEffect(ctx, a.e.Key, a.e.Token, reason, now)
	}
	if a.unknown && !a.called.IsZero() {
		due = later(due, a.called.Add(a.w.cfg.Settle)) // it can have lasted: what counts for the lists is its end
	}
	a.w.log(ctx, a.e).Info().Str(logkey.Reason, reason).Dur(logkey.Duration, due.Sub(now)).Msg("effect will be tried again")
	if outcomeOf(err) == outcomeRights {
		a.w.memory.hold(a.e.Key, due, a.evictions)
		due = now // for the store: the wait may end before its time
	}
	return store.RetryEffect(ctx, a.e.Key, a.e.Token, due, reason, a.unknown)
}

// next decides when to try again; the zero time is never.
func (a *attempt) next(now time.Time, err error) (time.Time, string) {
	var gone *deadError
	if errors.As(err, &gone) {
		return time.Time{}, gone.reason
	}
	var again *againError
	if errors.As(err, &again) {
		return now.Add(again.after), again.reason
	}
	reason := Redact(err.Error())
	var late *tooLateError
	if errors.As(err, &late) && late.at.After(now) {
		return late.at, reason
	}
	if errors.Is(err, context.Canceled) {
		return now, reason // this process ends; the next one may begin at once
	}
	switch outcomeOf(err) {
	case outcomeLimited:
		var limit *LimitError
		errors.As(err, &limit)
		return later(limit.RetryAt(), now), reason
	case outcomeRefused:
		return time.Time{}, refusal(err)
	case outcomeEarly:
		if a.fail() >= maxEarly {
			return time.Time{}, reason
		}
	default:
		if a.fail() >= maxTries {
			return time.Time{}, reason
		}
	}
	return now.Add(backoff(a.fail())), reason
}

// fail counts this try as a failure, once, and returns how many the effect has
// had since it was written last or this process began. A limit is none, nor is
// waiting for the lists or the pace: a write that GitHub puts off for
// hours is neither dropped nor made to wait longer for it.
func (a *attempt) fail() int {
	if a.failures == 0 {
		a.failures = a.w.memory.failed(a.e.Key)
	}
	return a.failures
}

// backoff follows the given failure, counted from 1.
func backoff(failure int) time.Duration {
	return min(firstBackoff<<min(max(failure-1, 0), 20), longestBackoff)
}
