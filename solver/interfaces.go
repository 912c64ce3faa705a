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
	"github.com/yudai-dev/yudai/solver/rights"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// Store is what the solver needs of a store engine; the promises are in storetest.
type Store interface {
	plan.Store
	prepare.Store
	attempt.Store
	commands.Store
	leases
	Events(ctx context.Context, id solve.ID, after uint64) ([]solve.Entry, error)
	Spent(ctx context.Context, since time.Time) ([]solve.Spending, error)
	Effect(ctx context.Context, key string) (solve.Effect, error)
	WithdrawEffect(ctx context.Context, key, reason string) (bool, error)
	Watch(ctx context.Context) <-chan struct{}
}

type leases interface {
	Heartbeat(ctx context.Context, node string, ttl time.Duration) error
	Leave(ctx context.Context, node string) error
	ClaimSolve(ctx context.Context, node string) (solve.Solve, error)
	Admit(ctx context.Context, node string, caps solve.Caps) ([]solve.Run, error)
	Rescue(ctx context.Context, node string) ([]solve.Run, error)
}

// Hub is what the solver reads from GitHub.
type Hub interface {
	plan.Hub
	prepare.Hub
	commands.Hub
	rights.Hub
}

// Models are the configured models.
type Models interface {
	Names() []string
	plan.Models
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
	// Signer leaves a signed statement of every decision; nil leaves none.
	Signer Signer
	Node   string // of this process's boot, unique
	// Label asks for a solve without a profile; repositories' own profiles have labels like it.
	Label string
	Log   zerolog.Logger
}
