package attempt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
	"github.com/yudai-dev/yudai/solver/tree"
)

// Times that end a run's last duties.
const (
	collectTime          = time.Minute     // after an ordinary end
	collectTimeCancelled = 2 * time.Second // a cancelled solve is over within five seconds
)

// collectPatch takes the patch out, whatever the agent's end was. The sandbox is
// closed when the patch is stored: until then another owner can collect it again.
func (a *Attempt) collectPatch(ctx context.Context) error {
	cancelled := errors.Is(context.Cause(ctx), agent.ErrCancelled) || a.run.Exit == agent.ExitCancelled // by an owner that died
	hctx, done := lastDuties(ctx)
	defer done()
	patch, err := tree.Harvest(hctx, a.box, int64(a.settings().Patch.MaxBytes))
	if ctx.Err() != nil && (err != nil || fault.Stopping(ctx)) {
		return context.Cause(ctx)
	}
	if errors.Is(err, tree.ErrTooLarge) {
		err = a.refuseTooLarge(ctx, err, cancelled)
		if err == nil {
			sandboxes.Close(ctx, a.box)
			a.box = nil
		}
		return err
	}
	if err != nil {
		return err
	}
	if err := a.storePatch(ctx, hctx, patch, cancelled); err != nil {
		return err
	}
	sandboxes.Close(ctx, a.box)
	a.box = nil
	return nil
}

// lastDuties is a context for the last duties of a run: it ends soon after a cancel, and at
// once with the process. done ends it.
func lastDuties(ctx context.Context) (last context.Context, done func()) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectTime)
	unwatch := context.AfterFunc(ctx, func() {
		if fault.Stopping(ctx) {
			cancel()
		} else {
			time.AfterFunc(collectTimeCancelled, cancel)
		}
	})
	return last, func() { unwatch(); cancel() }
}

// storePatch stores the patch and what it makes of the run.
func (a *Attempt) storePatch(ctx, hctx context.Context, patch []byte, cancelled bool) error {
	if len(patch) == 0 {
		return a.endWithoutPatch(ctx, cancelled)
	}
	c, err := a.candidate(hctx, patch)
	if err != nil {
		return err
	}
	if cancelled {
		return a.stopped(ctx, "; what it had changed is kept", c)
	}
	return a.apply(ctx, solve.Harvested{Candidate: *c}, "")
}

// refuseTooLarge stores a candidate that is refused unseen: its patch is no use to anybody.
func (a *Attempt) refuseTooLarge(ctx context.Context, cause error, cancelled bool) error {
	c := solve.Candidate{Refused: strings.TrimPrefix(cause.Error(), "harvest: ") + " (solver.patch.max_kib)"}
	if cancelled {
		return a.stopped(ctx, "", nil)
	}
	return a.apply(ctx, solve.Harvested{Candidate: c}, "")
}

// endWithoutPatch ends a run without a patch under the name of what ended it.
func (a *Attempt) endWithoutPatch(ctx context.Context, cancelled bool) error {
	if cancelled {
		return a.stopped(ctx, "", nil)
	}
	reason := a.run.Reason
	if a.run.Exit == agent.ExitTime {
		return a.apply(ctx, solve.TimedOut{}, reason)
	}
	switch a.run.Exit {
	case agent.ExitSubmitted, agent.ExitLimits, agent.ExitFormat, agent.ExitEdits, agent.ExitOutput, agent.ExitBudget:
		if reason == "" {
			reason = "the agent changed nothing"
		} else {
			reason = "the agent changed nothing: " + reason
		}
		return a.apply(ctx, solve.Empty{}, reason)
	}
	return a.apply(ctx, solve.Aborted{}, reason)
}

// candidate stores the patch and describes it.
func (a *Attempt) candidate(ctx context.Context, diff []byte) (*solve.Candidate, error) {
	changes, err := patch.Parse(diff)
	if err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	flags, refused := patch.Check(changes, diff, a.settings().Patch)
	sum := sha256.Sum256(diff)
	c := &solve.Candidate{
		Artifact: fmt.Sprintf("run-%d.patch", a.run.N), SHA256: hex.EncodeToString(sum[:]),
		Files: changes, Flags: flags, Refused: refused,
	}
	for _, f := range changes {
		c.Added += f.Added
		c.Deleted += f.Deleted
	}
	return c, a.with.Store.PutArtifact(ctx, a.run.Solve, c.Artifact, diff)
}
