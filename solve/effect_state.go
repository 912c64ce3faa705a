package solve

import (
	"cmp"
	"fmt"
	"time"
)

// First is the effect as it is stored when it is asked for the first time. What is due
// at once has no time: a clock that jumps back does not put it off.
func (e Effect) First() Effect {
	e.V, e.State, e.Wanted, e.Applied, e.Token, e.Due = recordVersion, EffectPending, 1, 0, 0, time.Time{}
	return e
}

// Again is the effect asked for once more: a newer version of one that is
// level-triggered and not dead. Any other does not change.
func (e Effect) Again() (after Effect, changed bool) {
	if !e.Kind.Level() || e.State == EffectDead {
		return e, false
	}
	e.Wanted++
	if e.State == EffectApplied {
		e.State, e.Due = EffectPending, time.Time{}
	}
	return e, true
}

// NextLook is when somebody has to look at the effect: when it is due, or its claim
// runs out; the zero time is at once. false: nobody has to.
func (e Effect) NextLook() (at time.Time, ok bool) {
	switch e.State {
	case EffectPending:
		return e.Due, true
	case EffectSending:
		return e.Until, true
	default:
		return time.Time{}, false
	}
}

// CompareDue orders due effects by installation and priority. Among equals the one that
// has been wanted for longer is first, which only the store knows.
func CompareDue(a, b Effect) int {
	return cmp.Or(cmp.Compare(a.Repo.Installation, b.Repo.Installation), cmp.Compare(a.Priority, b.Priority))
}

// Claim gives a due effect to a node. SentAt and Error stay, so that the writer
// knows what was tried before.
func (e Effect) Claim(node string, now, until time.Time) (Effect, error) {
	if at, ok := e.NextLook(); !ok || at.After(now) {
		return e, fmt.Errorf("effect %s is not due: %w", e.Key, ErrLeaseLost)
	}
	e.State, e.Node, e.Until = EffectSending, node, until
	e.Token++
	e.Tries++
	return e, nil
}

// Orphaned ends the claim of a writer whose process is gone, whatever time it had left.
// SentAt stays, as after [Effect.Claim].
func (e Effect) Orphaned() Effect {
	if e.State == EffectSending {
		e.Until = time.Time{}
	}
	return e
}

// CheckClaim refuses a writer whose claim is not the newest, or whose node is dead.
func (e Effect) CheckClaim(token uint64, alive func(node string) bool) error {
	if e.State != EffectSending || e.Token != token {
		return fmt.Errorf("effect %s, token %d, newest is %d: %w", e.Key, token, e.Token, ErrLeaseLost)
	}
	if !alive(e.Node) {
		return fmt.Errorf("effect %s: node %q is not live: %w", e.Key, e.Node, ErrLeaseLost)
	}
	return nil
}

// Sending notes that the call may be made from now on. A claim that has run out is refused.
func (e Effect) Sending(at time.Time) (Effect, error) {
	if !e.Until.After(at) {
		return e, fmt.Errorf("claim of effect %s has run out: %w", e.Key, ErrLeaseLost)
	}
	e.SentAt = at
	return e, nil
}

// Finish stores what GitHub answered for a version. A newer one is due at once.
func (e Effect) Finish(version uint64, got Receipt, at time.Time) Effect {
	e.unclaim()
	e.State, e.Applied, e.Receipt, e.Done = EffectApplied, version, got, at
	e.SentAt, e.Tries, e.Error = time.Time{}, 0, ""
	if e.Wanted > version {
		e.State, e.Due = EffectPending, time.Time{}
	}
	return e
}

// Retry makes the effect pending again. With unknown the time of the call stays.
func (e Effect) Retry(due time.Time, reason string, unknown bool) Effect {
	e.unclaim()
	e.State, e.Due, e.Error = EffectPending, due, reason
	if !unknown {
		e.SentAt = time.Time{}
	}
	return e
}

// Kill ends the effect for good.
func (e Effect) Kill(reason string, at time.Time) Effect {
	e.unclaim()
	e.State, e.Error, e.Done, e.SentAt = EffectDead, reason, at, time.Time{}
	return e
}

// Withdraw ends an effect that nobody has begun: pending, and its call never made.
func (e Effect) Withdraw(reason string, at time.Time) (after Effect, done bool) {
	if e.State != EffectPending || !e.SentAt.IsZero() {
		return e, false
	}
	e.State, e.Error, e.Done = EffectDead, reason, at
	return e, true
}

func (e *Effect) unclaim() { e.Node, e.Until = "", time.Time{} }
