// Package commands does what people ask for beside solving: status, why, cancel, retry,
// pick, revise, help. It also stops solves whose issue, label or repository is gone, and has track records
// count what became of pull requests.
package commands

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/rights"
)

// Store is what commands need of the store.
type Store interface {
	Commands(ctx context.Context) ([]solve.Command, error)
	Answer(ctx context.Context, id string, effects []solve.Effect) error
	Solve(ctx context.Context, id solve.ID) (solve.Solve, error)
	Runs(ctx context.Context, id solve.ID) ([]solve.Run, error)
	LiveSolves(ctx context.Context) ([]solve.Solve, error)
	LatestSolve(ctx context.Context, repoID int64, issue int) (solve.Solve, error)
	Create(ctx context.Context, s solve.Solve) (stored solve.Solve, created bool, err error)
	RequestCancel(ctx context.Context, id solve.ID, by, why string) (solve.Solve, error)
	RenewEffect(ctx context.Context, key string) error
	Learn(ctx context.Context, id solve.ID, news solve.Fate) error
}

// Hub is what commands read from GitHub.
type Hub interface {
	Issue(ctx context.Context, repo solve.Repo, number int) (solve.IssueNow, error)
	// Pull is a pull request as it is now; solve.ErrNotFound if there is none.
	Pull(ctx context.Context, repo solve.Repo, number int) (solve.PullNow, error)
	// Suspended asks as the App: a suspended installation has no token.
	Suspended(ctx context.Context, installation int64) (bool, error)
	// Repos are those of an installation; solve.ErrNotFound if it is gone.
	Repos(ctx context.Context, installation int64) ([]solve.Repo, error)
}

// Commands answers commands. It looks up the person's permission for each.
type Commands struct {
	store  Store
	hub    Hub
	rights *rights.Rights
	later  map[string]time.Time // when GitHub may be asked again for a command's sake
}

// New returns the commands of a process.
func New(store Store, hub Hub, people *rights.Rights) *Commands {
	return &Commands{store: store, hub: hub, rights: people, later: map[string]time.Time{}}
}

// pause is how long a command waits at least after an error that may pass.
const pause = 2 * time.Second

// Answer answers the commands that are due.
func (c *Commands) Answer(ctx context.Context) {
	pending, err := c.store.Commands(ctx)
	fault.Log(ctx, err, "commands not read")
	slices.SortStableFunc(pending, func(a, b solve.Command) int { return solve.StrangersLast(a.Stranger, b.Stranger) })
	for _, a := range pending {
		if ctx.Err() != nil {
			return
		}
		if a.Kind == solve.CommandHindsight || time.Now().Before(c.later[a.ID]) {
			continue // hindsight has time
		}
		delete(c.later, a.ID)
		said, err := c.decide(ctx, a)
		var early notYet
		if errors.As(err, &early) {
			c.later[a.ID] = early.until
			continue
		}
		if err != nil && fault.Temporary(err) && time.Since(a.At) < time.Hour {
			zerolog.Ctx(ctx).Warn().Err(err).Str(logkey.DeliveryID, a.ID).Msg("command not answered yet")
			c.later[a.ID] = time.Now().Add(max(pause, fault.RetryAfter(err)))
			continue
		}
		if err != nil {
			zerolog.Ctx(ctx).Error().Err(err).Str(logkey.DeliveryID, a.ID).Msg("command failed")
			if !a.Kind.Event() {
				said.reply, said.reaction = "Sorry @"+a.Actor+", yudai could not do that: "+fault.Public(err), "confused"
			}
		}
		fault.Log(ctx, c.store.Answer(ctx, a.ID, said.effects(a)), "command not answered")
	}
}

// answer is what a person gets for a command; each part may be empty.
type answer struct {
	reply    string
	reaction string
	// owner of the reply; "" is the command, or for a button its solve and the text. yudai writes one reply for each owner.
	owner string
	// denied: to somebody without rights, who gets one reply and one reaction for each issue.
	denied bool
	// issue is where the reply goes; 0 is where the command came from.
	issue int
}

// effects are the writes that answer a command. Without an issue there are none.
func (n answer) effects(a solve.Command) []solve.Effect {
	var out []solve.Effect
	add := func(owner string, kind solve.EffectKind, text string) {
		priority := solve.Priority(kind)
		if n.denied {
			owner, priority = n.owner, solve.PriorityDenied
		}
		if issue := cmp.Or(n.issue, a.Issue); text != "" && issue != 0 {
			out = append(out, solve.Effect{
				Key: owner + "/" + string(kind), Kind: kind, Text: text, Priority: priority,
				Repo: a.Repo, Issue: issue, CommentID: a.CommentID,
			})
		}
	}
	owner := a.ID
	if a.Button { // it has no comment to react to, and nothing tells a copy of the press from another press
		owner = "button-" + string(a.Solve) + "-" + solve.Digest(n.reply)
	} else {
		add(owner, solve.EffectReact, n.reaction)
	}
	add(cmp.Or(n.owner, owner), solve.EffectReply, n.reply)
	return out
}

// decide does what a command asks for and returns the answer.
func (c *Commands) decide(ctx context.Context, a solve.Command) (answer, error) {
	switch a.Kind {
	case solve.CommandStop:
		return answer{}, c.stop(ctx, a)
	case solve.CommandRenew:
		return answer{}, c.renewComment(ctx, a)
	case solve.CommandPull:
		return answer{}, c.endPull(ctx, a)
	}
	if a.Issue == 0 { // a button belongs to the issue of the solve that it names
		s, err := c.solveOf(ctx, a)
		if errors.Is(err, solve.ErrNotFound) {
			return answer{}, nil
		}
		if err != nil {
			return answer{}, err
		}
		a.Issue = s.Issue.Number
	}
	said, err := c.answerPerson(ctx, a)
	said.issue = cmp.Or(said.issue, a.Issue)
	return said, err
}

// answerPerson answers a person, after a look at the permission.
func (c *Commands) answerPerson(ctx context.Context, a solve.Command) (answer, error) {
	may, err := c.rights.Of(ctx, a.Repo, a.Actor, a.Stranger, a.ID)
	switch {
	case err != nil:
		return answer{}, err
	case !may.Write && (a.Review || may.Silent): // anybody may review without meaning yudai
		return answer{}, nil
	case !may.Write:
		return answer{
			reply: report.RefusedText(a.Actor, may.Role), reaction: solve.ReactionRefuse, denied: true,
			owner: solve.DeniedReplyID(a.Repo, a.Issue, a.Actor),
		}, nil
	}
	if stands, err := c.rights.Stands(ctx, a.Repo, a.Late, a.CommentID, a.Said); err != nil || !stands {
		return answer{}, err
	}
	switch a.Kind {
	case solve.CommandHelp:
		return answer{reply: cmp.Or(a.Text, report.HelpText()), reaction: "eyes"}, nil
	case solve.CommandUnknown:
		return answer{reply: a.Text, reaction: "confused"}, nil
	}
	s, err := c.solveOf(ctx, a)
	if errors.Is(err, solve.ErrNotFound) && a.Review {
		return answer{}, nil
	}
	if errors.Is(err, solve.ErrNotFound) {
		const none = "There is no solve of this issue yet. Add the label or comment the solve command to start one."
		return answer{reply: none, reaction: "confused"}, nil
	}
	if err != nil {
		return answer{}, err
	}
	return c.answerAbout(ctx, a, s)
}

// answerAbout answers a command about one solve.
func (c *Commands) answerAbout(ctx context.Context, a solve.Command, s solve.Solve) (answer, error) {
	switch a.Kind {
	case solve.CommandCancel:
		return c.cancel(ctx, a, s)
	case solve.CommandRetry, solve.CommandPick, solve.CommandRevise:
		return c.followUp(ctx, a, s)
	case solve.CommandRunning:
		return c.running(ctx, a, s)
	case solve.CommandWhy:
		return c.describe(ctx, s, report.WhyText)
	default:
		return c.describe(ctx, s, report.StatusText)
	}
}

// solveOf is the solve that a command is about: the one it names, or the newest of the issue.
func (c *Commands) solveOf(ctx context.Context, a solve.Command) (solve.Solve, error) {
	if a.Solve == "" {
		return c.store.LatestSolve(ctx, a.Repo.ID, a.Issue)
	}
	s, err := c.store.Solve(ctx, a.Solve)
	if err == nil && s.Repo.ID != a.Repo.ID {
		err = solve.ErrNotFound
	}
	return s, err
}

// cancel judges by what the solve was when the command came: an owner that died may have stored the cancel, and the runs
// may have ended, before the command was answered.
func (c *Commands) cancel(ctx context.Context, a solve.Command, s solve.Solve) (answer, error) {
	switch {
	case s.State == solve.StateCancelled && !s.Ended.Before(a.At):
		return answer{reaction: "+1"}, nil
	case s.State.Final():
		return answer{reply: "The last solve of this issue has already ended: " + string(s.State) + ".", reaction: "confused"}, nil
	}
	if _, err := c.store.RequestCancel(ctx, s.ID, a.Actor, ""); err != nil {
		return answer{}, err
	}
	return answer{reaction: "+1"}, nil // the progress comment tells the rest
}

// running says that a solve is at work: once to labels that are removed and added again, and to buttons.
func (c *Commands) running(ctx context.Context, a solve.Command, s solve.Solve) (answer, error) {
	said, err := c.describe(ctx, s, report.RunningText)
	if a.CommentID == 0 && !a.Review {
		said.owner = "running-" + string(s.ID)
	}
	return said, err
}

func (c *Commands) describe(ctx context.Context, s solve.Solve, text func(report.View) string) (answer, error) {
	runs, err := c.store.Runs(ctx, s.ID)
	if err != nil {
		return answer{}, err
	}
	return answer{reply: text(report.View{Solve: s, Runs: runs, Now: time.Now()}), reaction: "eyes"}, nil
}
