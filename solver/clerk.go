package solver

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
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
		said, err := e.answer(ctx, a)
		var early notYet
		if errors.As(err, &early) {
			e.later[a.ID] = early.until
			continue
		}
		if err != nil && fault.Temporary(err) && time.Since(a.At) < time.Hour {
			e.Log.Warn().Err(err).Str("delivery_id", a.ID).Msg("ask not answered yet")
			e.later[a.ID] = time.Now().Add(max(askPause, fault.RetryAfter(err)))
			continue
		}
		if err != nil {
			e.Log.Error().Err(err).Str("delivery_id", a.ID).Msg("ask failed")
			if !a.Kind.Event() {
				said.reply, said.reaction = "Sorry @"+a.Actor+", yudai could not do that: "+fault.Public(err), "confused"
			}
		}
		e.complain(ctx, e.Store.Answer(ctx, a.ID, said.effects(a)), "ask not answered")
	}
}

// answer is what somebody gets for an ask; each part may be empty.
type answer struct {
	reply    string
	reaction string
	// owner of the reply; "" is the ask. A second reply of one owner is not written.
	owner string
	// issue is where the reply goes; 0 is where the ask came from.
	issue int
}

// effects are the writes that answer an ask; without an issue there is no place for any.
func (n answer) effects(a solve.Ask) []solve.Effect {
	var out []solve.Effect
	add := func(owner string, kind solve.EffectKind, text string) {
		if issue := cmp.Or(n.issue, a.Issue); text != "" && issue != 0 {
			out = append(out, solve.Effect{
				Key: owner + "/" + string(kind), Kind: kind, Text: text, Priority: solve.Priority(kind),
				Repo: a.Repo, Issue: issue, CommentID: a.CommentID,
			})
		}
	}
	if !a.Button { // nothing is there to react on
		add(a.ID, solve.EffectReact, n.reaction)
	}
	add(cmp.Or(n.owner, a.ID), solve.EffectReply, n.reply)
	return out
}

// answer decides what an ask gets.
func (e *Engine) answer(ctx context.Context, a solve.Ask) (answer, error) {
	switch a.Kind {
	case solve.AskStop:
		return answer{}, e.stop(ctx, a)
	case solve.AskRenew:
		return answer{}, e.renewComment(ctx, a)
	}
	if a.Issue == 0 { // a button's place is the issue of the solve that it names
		s, err := e.meant(ctx, a)
		if errors.Is(err, solve.ErrNotFound) {
			return answer{}, nil
		}
		if err != nil {
			return answer{}, err
		}
		a.Issue = s.Issue.Number
	}
	said, err := e.say(ctx, a)
	said.issue = cmp.Or(said.issue, a.Issue)
	return said, err
}

// say answers a person. Rights are looked up for all that a person asks.
func (e *Engine) say(ctx context.Context, a solve.Ask) (answer, error) {
	role, write, err := e.Hub.Permission(ctx, a.Repo, a.Actor)
	switch {
	case err != nil:
		return answer{}, err
	case !write && a.Review: // everybody may review, and need not think of us
		return answer{}, nil
	case !write:
		return answer{reply: solve.RefusedText(a.Actor, role), reaction: "-1", owner: solve.RefusalID(a.Repo, a.Issue, a.Actor)}, nil
	}
	switch a.Kind {
	case solve.AskHelp:
		return answer{reply: cmp.Or(a.Text, solve.HelpText()), reaction: "eyes"}, nil
	case solve.AskUnknown:
		return answer{reply: a.Text, reaction: "confused"}, nil
	}
	s, err := e.meant(ctx, a)
	if errors.Is(err, solve.ErrNotFound) && a.Review {
		return answer{}, nil
	}
	if errors.Is(err, solve.ErrNotFound) {
		return answer{reply: "There is no solve of this issue yet. Add the label or comment the solve command to start one.", reaction: "confused"}, nil
	}
	if err != nil {
		return answer{}, err
	}
	return e.about(ctx, a, s)
}

// about answers a person who means a certain solve.
func (e *Engine) about(ctx context.Context, a solve.Ask, s solve.Solve) (answer, error) {
	switch a.Kind {
	case solve.AskCancel:
		return e.cancel(ctx, a, s)
	case solve.AskRetry, solve.AskPick, solve.AskRevise:
		return e.follow(ctx, a, s)
	case solve.AskRunning:
		said, err := e.describe(ctx, s, solve.RunningText)
		if a.CommentID == 0 { // a label that goes off and on is answered once
			said.owner = "running-" + string(s.ID)
		}
		return said, err
	case solve.AskWhy:
		return e.describe(ctx, s, solve.WhyText)
	default:
		return e.describe(ctx, s, solve.StatusText)
	}
}

// meant is the solve that an ask is about: the one it names, or the newest of the issue.
func (e *Engine) meant(ctx context.Context, a solve.Ask) (solve.Solve, error) {
	if a.Solve == "" {
		return e.Store.LatestSolve(ctx, a.Repo.ID, a.Issue)
	}
	s, err := e.Store.Solve(ctx, a.Solve)
	if err == nil && s.Repo.ID != a.Repo.ID {
		err = solve.ErrNotFound
	}
	return s, err
}

func (e *Engine) cancel(ctx context.Context, a solve.Ask, s solve.Solve) (answer, error) {
	if s.State.Final() {
		return answer{reply: "The last solve of this issue has already ended: " + string(s.State) + ".", reaction: "confused"}, nil
	}
	if _, err := e.Store.AskCancel(ctx, s.ID, a.Actor, "", time.Now()); err != nil {
		return answer{}, err
	}
	return answer{reaction: "+1"}, nil // the progress comment tells the rest
}

func (e *Engine) describe(ctx context.Context, s solve.Solve, text func(solve.View) string) (answer, error) {
	runs, err := e.Store.Runs(ctx, s.ID)
	if err != nil {
		return answer{}, err
	}
	return answer{reply: text(solve.View{Solve: s, Runs: runs}), reaction: "eyes"}, nil
}
