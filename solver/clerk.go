package solver

import (
	"context"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// clerk does what people asked beside solving: status, cancel, help, and
// a word nobody knows. Rights are looked up live for each.
type clerk struct {
	*Engine
	later map[string]time.Time // when GitHub may be asked again for an ask's sake
}

// askPause is how long an ask waits at least after a passing fault.
const askPause = 2 * time.Second

// answerAsks answers what has come and what waited long enough.
func (e *clerk) answerAsks(ctx context.Context) {
	asks, err := e.Store.Asks(ctx)
	e.complain(ctx, err, "asks not read")
	for _, a := range asks {
		if ctx.Err() != nil {
			return
		}
		if time.Now().Before(e.later[a.ID]) {
			continue
		}
		delete(e.later, a.ID)
		reply, reaction, err := e.answer(ctx, a)
		if err != nil && passing(err) && time.Since(a.At) < time.Hour {
			e.Log.Warn().Err(err).Str("delivery_id", a.ID).Msg("ask not answered yet")
			e.later[a.ID] = time.Now().Add(max(askPause, retryAfter(err)))
			continue
		}
		if err != nil {
			e.Log.Error().Err(err).Str("delivery_id", a.ID).Msg("ask failed")
			reply, reaction = "Sorry @"+a.Actor+", yudai could not do that: "+public(err), "confused"
		}
		e.complain(ctx, e.Store.Answer(ctx, a.ID, replies(a, reply, reaction)), "ask not answered")
	}
}

// replies are the effects that answer an ask.
func replies(a solve.Ask, reply, reaction string) []solve.Effect {
	base := solve.Effect{Repo: a.Repo, Issue: a.Issue, CommentID: a.CommentID}
	var out []solve.Effect
	if reaction != "" {
		f := base
		f.Key, f.Kind, f.Text, f.Priority = a.ID+"/"+string(solve.EffectReact), solve.EffectReact, reaction, solve.Priority(solve.EffectReact)
		out = append(out, f)
	}
	if reply != "" {
		f := base
		f.Key, f.Kind, f.Text, f.Priority = a.ID+"/"+string(solve.EffectReply), solve.EffectReply, reply, solve.Priority(solve.EffectReply)
		out = append(out, f)
	}
	return out
}

// answer returns the reply's text and the reaction's name, either may be empty.
func (e *Engine) answer(ctx context.Context, a solve.Ask) (reply, reaction string, err error) {
	role, write, err := e.Hub.Permission(ctx, a.Repo, a.Actor)
	if err != nil {
		return "", "", err
	}
	if !write {
		return solve.RefusedText(a.Actor, role), "-1", nil
	}
	switch a.Kind {
	case solve.AskHelp:
		return solve.HelpText(), "eyes", nil
	case solve.AskUnknown:
		return a.Text, "confused", nil
	}
	s, err := e.Store.LatestSolve(ctx, a.Repo.ID, a.Issue)
	if errors.Is(err, solve.ErrNotFound) {
		return "There is no solve of this issue yet. Add the label or comment the solve command to start one.", "confused", nil
	}
	if err != nil {
		return "", "", err
	}
	switch a.Kind {
	case solve.AskCancel:
		return e.cancel(ctx, a, s)
	case solve.AskRunning:
		return e.describe(ctx, s, solve.RunningText)
	default:
		return e.describe(ctx, s, solve.StatusText)
	}
}

func (e *Engine) cancel(ctx context.Context, a solve.Ask, s solve.Solve) (reply, reaction string, err error) {
	if s.State.Final() {
		return "The last solve of this issue has already ended: " + string(s.State) + ".", "confused", nil
	}
	if _, err := e.Store.AskCancel(ctx, s.ID, a.Actor, time.Now()); err != nil {
		return "", "", err
	}
	return "", "+1", nil // the progress comment tells the rest
}

func (e *Engine) describe(ctx context.Context, s solve.Solve, text func(solve.View) string) (string, string, error) {
	runs, err := e.Store.Runs(ctx, s.ID)
	if err != nil {
		return "", "", err
	}
	return text(solve.View{Solve: s, Runs: runs}), "eyes", nil
}
