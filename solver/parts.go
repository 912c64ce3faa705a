package solver

import (
	"context"
	"time"

	"github.com/rs/zerolog"
	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/attempt"
	"github.com/yudai-dev/yudai/solver/commands"
	"github.com/yudai-dev/yudai/solver/plan"
	"github.com/yudai-dev/yudai/solver/prepare"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// Store is what the solver needs of a store engine; the promises are in storetest.
type Store interface {
	plan.Store
	prepare.Store
	attempt.Store
	commands.Store
	records
	leases
}

type records interface {
	Events(ctx context.Context, id solve.ID, after uint64) ([]solve.Entry, error)
	Spent(ctx context.Context, since time.Time) ([]solve.Spending, error)
	Effect(ctx context.Context, key string) (solve.Effect, error)
	WithdrawEffect(ctx context.Context, key, reason string, at time.Time) (bool, error)
	Watch(ctx context.Context) <-chan struct{}
}

type leases interface {
	Heartbeat(ctx context.Context, node string, now time.Time, ttl time.Duration) error
	Leave(ctx context.Context, node string) error
	ClaimSolve(ctx context.Context, node string, now time.Time) (solve.Solve, error)
	Admit(ctx context.Context, node string, now time.Time, caps solve.Caps) ([]solve.Run, error)
	Rescue(ctx context.Context, node string, now time.Time) ([]solve.Run, error)
}

// Hub is what the solver reads from GitHub.
type Hub interface {
	// Permission tells the login's role in the repository, and whether it may write.
	Permission(ctx context.Context, repo solve.Repo, login string) (role string, write bool, err error)
	// Issue is an issue as it is now; solve.ErrNotFound if it is gone, also to another repository.
	Issue(ctx context.Context, repo solve.Repo, number int) (solve.IssueNow, error)
	// Pull is a pull request as it is now; solve.ErrNotFound if there is none.
	Pull(ctx context.Context, repo solve.Repo, number int) (solve.PullNow, error)
	// Branch is the commit a branch points to; solve.ErrNotFound if there is none.
	Branch(ctx context.Context, repo solve.Repo, name string) (sha string, err error)
	// Config is the repository's own settings at a commit, else its owner's, with a name
	// for people; solve.ErrNotFound if there are none, solve.ErrTooLarge if they are not read.
	Config(ctx context.Context, repo solve.Repo, sha string) (name string, data []byte, err error)
	prepare.Hub
}

// Models are the configured models.
type Models interface {
	Names() []string
	Ready(name string) error
	Temperature(name string) solve.TemperatureRule
	// Metered says whether the model's price is known: money limits cannot stop one without.
	Metered(name string) bool
	// APIs are those by which the model can be called through the gateway.
	APIs(name string) []string
	attempt.Models
}

// Gateway lets agents that are programs of their own call their models.
type Gateway interface {
	attempt.Gateway
	// Runs lists the runs that something is kept for.
	Runs() ([]string, error)
	// Close ends all calls and books them. Runs that are not over go on: the next
	// process lets them in again.
	Close() error
}

// Parts are what an engine is put together from.
type Parts struct {
	Store   Store
	Hub     Hub
	Drivers sandboxes.Drivers
	Git     *git.Cache
	Agents  map[string]agent.Agent // by the name used in agents=
	Models  Models
	// Gateway is for agents that are programs of their own; nil if there are none.
	Gateway Gateway
	Node    string // of this process's boot, unique
	// Label asks for a solve without a profile; repositories' own profiles have labels like it.
	Label string
	Log   zerolog.Logger
}
