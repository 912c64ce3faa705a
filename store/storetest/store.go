// Package storetest is the conformance suite of the store engines. Consumers
// declare the few methods they call; only this package names the union.
package storetest

import (
	"context"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Store is everything an engine offers. All methods are safe for concurrent
// use. Records are returned by value: changing them changes nothing.
//
// A lease is live while its node's heartbeat has not run out. A token only
// grows. A write with an old token, or from a node whose heartbeat has run out,
// returns solve.ErrLeaseLost and changes nothing. Leases and what is due go by the
// engine's clock, never by a caller's. Claims go by Created, which a caller may set.
type Store interface {
	// Intake.

	// Accept stores a delivery and what follows from it in one group-committed
	// transaction, durable when it returns. accepted is false, and nothing
	// changes, if the GUID is known. An intent of a solve whose trigger key is
	// known changes nothing but the delivery; if the issue has a live solve, an
	// ask of kind running is stored instead.
	Accept(ctx context.Context, d solve.Delivery, w solve.Intent) (accepted bool, err error)
	// Create stores a queued solve that no delivery asked for (the API). If the
	// trigger key is known, or the issue has a live solve, that one is returned and created is false.
	Create(ctx context.Context, s solve.Solve) (stored solve.Solve, created bool, err error)
	// Commands returns the unanswered asks, oldest first.
	Commands(ctx context.Context) ([]solve.Command, error)
	// Answer removes an ask and queues its effects (reply, reaction) in one
	// transaction. Unknown ask: no error, no effect.
	Answer(ctx context.Context, askID string, effects []solve.Effect) error

	// Reading.

	Solve(ctx context.Context, id solve.ID) (solve.Solve, error)
	Runs(ctx context.Context, id solve.ID) ([]solve.Run, error) // by N
	Run(ctx context.Context, id solve.ID, n int) (solve.Run, error)
	Events(ctx context.Context, id solve.ID, after uint64) ([]solve.Entry, error)
	// Solves are at most that many solves whose ID is below before, or of all for "": the highest ID first, which is
	// the newest, for IDs begin with their second.
	Solves(ctx context.Context, before solve.ID, most int) ([]solve.Solve, error)
	// LiveSolves are those in no final state, oldest first.
	LiveSolves(ctx context.Context) ([]solve.Solve, error)
	// LatestSolve is the newest solve of an issue, or of a pull request that one opened
	// or goes on with; solve.ErrNotFound if none.
	LatestSolve(ctx context.Context, repoID int64, issue int) (solve.Solve, error)
	// Spent tells what the solves cost that were started (Started is set) since then, a week
	// back at most, oldest first: of ended ones what their own runs cost, of live ones that, or
	// their Reserve if it is more.
	Spent(ctx context.Context, since time.Time) ([]solve.Spending, error)
	// TrackRecords are those of all repositories, by number; none of one where nothing was counted.
	TrackRecords(ctx context.Context) ([]solve.TrackRecord, error)
	// Watch returns a channel that gets a value, coalesced, after every committed
	// change. A hint only: readers read the rows again. Closed when ctx ends.
	Watch(ctx context.Context) <-chan struct{}

	// Leases.

	// Heartbeat makes or renews a node's lease for the time ttl. A node whose lease has run
	// out cannot be renewed: solve.ErrLeaseLost.
	Heartbeat(ctx context.Context, node string, ttl time.Duration) error
	// Leave ends a node's lease at once, so that others may claim its work.
	Leave(ctx context.Context, node string) error
	// ClaimSolve gives the node a solve that nobody live owns (token+1): first the oldest in state
	// preparing, reducing or publishing, or running with its runs all ended or its cancel or
	// deadline due; then, in state queued, one of the repository with the fewest other live
	// solves (those that left the queue, or are in it and owned), and the oldest among equals.
	// See solve.Queue. solve.ErrNotFound if there is none.
	ClaimSolve(ctx context.Context, node string) (solve.Solve, error)
	// Admit moves queued runs of running solves to dispatched (token+1, attempt+1,
	// owned by node) while the caps and each solve's Plan.Limits.Parallel allow it: the
	// repository with the fewest running runs goes first, then the oldest solve, then
	// the lowest wave and N. Under solve.StopWaves no run of a wave after Solve.Wave starts.
	// Solves whose cancel was asked for or whose deadline has passed are left out.
	Admit(ctx context.Context, node string, caps solve.Caps) ([]solve.Run, error)
	// Rescue takes over (token+1, owned by node) the dispatched, working,
	// harvesting and judging runs whose node is dead or released them, without a change of state.
	Rescue(ctx context.Context, node string) ([]solve.Run, error)

	// Writing.

	// Apply does one solve.Change and returns the new records (run is zero for a change
	// of the solve). It appends the event, queues the effects of solve.EffectsOf,
	// and, when a run's change leaves no run of the solve unfinished, applies
	// EventRunsEnded to the solve (state running) in the same transaction.
	// When a run ends, or goes back into the queue, solve.Solve.CurrentWave is asked in the same
	// transaction: if the solve has enough, its queued runs are cancelled (NotNeeded is set); else, if
	// its wave is over, Solve.Wave is the next one and EventWave is logged, unless the solve's cancel
	// was asked for or its deadline has passed. The first wave begins with the runs, without an event.
	// Runs of a change that ended in an earlier solve (From is set) keep their state; if
	// no other is among them, the solve moves on as if the last had ended now.
	// Cancelling, failing or expiring a solve also applies EventCancelled (for expiry: EventTimedOut) to all its unfinished runs.
	Apply(ctx context.Context, c solve.Change) (solve.Solve, solve.Run, error)
	// RequestCancel sets the cancel flag of a live solve, ends its queued runs, and, if
	// the solve itself is queued and unclaimed, or running with no unfinished run left, cancels it. It returns the solve.
	// For a solve in a final state it changes nothing.
	// by is who caused it; why is a clause for people where nobody asked for it, else "".
	RequestCancel(ctx context.Context, id solve.ID, by, why string) (solve.Solve, error)
	// Learn does what solve.Told says of what became of a solve. The solve itself does not change. Apply and RequestCancel count
	// the trials of a solve in the transaction that ends it.
	Learn(ctx context.Context, id solve.ID, news solve.Fate) error
	// Step appends lines to the run's transcript and stores the progress, fenced by the token.
	// The transcript is durable before the progress says so.
	Step(ctx context.Context, id solve.ID, n int, token uint64, lines []byte, p solve.Progress) error
	// Transcript returns what was stored by Step for the present attempt of the run, whoever stored it.
	Transcript(ctx context.Context, id solve.ID, n int) ([]byte, error)

	// Artifacts: patches, test output, reports; files beside the store.

	PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error // replaces; durable when it returns
	Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error)       // solve.ErrNotFound

	// Effects.

	// DueEffects returns the pending effects whose time has come and the sending
	// ones whose claim has run out, by installation, priority, age.
	DueEffects(ctx context.Context) ([]solve.Effect, error)
	// ClaimEffect gives one to the node for the time ttl (token+1, state sending). solve.ErrLeaseLost if it is not due.
	ClaimEffect(ctx context.Context, key, node string, ttl time.Duration) (solve.Effect, error)
	// SendingEffect commits SentAt before the call is made.
	SendingEffect(ctx context.Context, key string, token uint64) error
	// FinishEffect stores GitHub's answer for a version. The effect is applied, or pending again and due at once if a newer version is wanted.
	FinishEffect(ctx context.Context, key string, token, version uint64, r solve.Receipt) error
	// RetryEffect makes it pending again, due after the time wait. unknown keeps SentAt: the next writer must look the write up first.
	RetryEffect(ctx context.Context, key string, token uint64, wait time.Duration, reason string, unknown bool) error
	// KillEffect ends it for good: GitHub refuses.
	KillEffect(ctx context.Context, key string, token uint64, reason string) error
	// WithdrawEffect ends for good a pending effect whose call was never made. False, and
	// nothing changes, if it is being written, its outcome is unknown, or it is over.
	WithdrawEffect(ctx context.Context, key, reason string) (withdrawn bool, err error)
	// RenewEffect asks for a newer version of a level-triggered effect, as if what it
	// shows had changed. One of another kind, or dead, is left alone.
	RenewEffect(ctx context.Context, key string) error
	Effect(ctx context.Context, key string) (solve.Effect, error)
	// SolveEffects are all effects of one solve, by key.
	SolveEffects(ctx context.Context, id solve.ID) ([]solve.Effect, error)

	// Healing.

	// UnknownDeliveries returns those of the GUIDs that were never stored, or are no
	// longer kept, in the order given.
	UnknownDeliveries(ctx context.Context, guids []string) ([]string, error)
	// Healed is until when missed deliveries have been looked for, as SetHealed noted it
	// last; zero if never.
	Healed(ctx context.Context) (time.Time, error)
	SetHealed(ctx context.Context, at time.Time) error

	// Close flushes and releases the file. Safe to call twice.
	Close() error
}
