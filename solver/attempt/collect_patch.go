package attempt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/sandboxes"
	"github.com/yudai-dev/yudai/solver/tree"
)

// How long the last duties of a run may take.
const (
	collectTime          = time.Minute     // after an ordinary end
	collectTimeCancelled = 3 * time.Second // a cancelled solve is over within five seconds
)

// collectPatch takes the patch out, whatever the agent's end was. The sandbox is
// closed when the patch is stored: until then another owner can collect it again.
func (a *Attempt) collectPatch(ctx context.Context) error {
	cancelled := errors.Is(context.Cause(ctx), agent.ErrCancelled) || a.run.Exit == agent.ExitCancelled // by an owner that died
	last, done := lastDuties(ctx)
	defer done()
	diff, err := tree.CollectPatch(last, a.box, a.solve.Base.SHA, int64(a.settings().Patch.MaxBytes))
	if ctx.Err() != nil && (err != nil || fault.Stopping(ctx)) {
		return context.Cause(ctx)
	}
	c, err := a.candidate(last, diff, err)
	if err != nil {
		return err
	}
	if err := a.harvested(ctx, c, cancelled); err != nil {
		return err
	}
	sandboxes.Close(ctx, a.box)
	a.box = nil
	return nil
}

// lastDuties returns a context for the end of a run. It ends soon after a cancel, and at once
// if the process stops. done ends it.
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

// candidate stores the patch and describes it; nil where the agent changed nothing. What is
// stored, judged and published is what this host's git made of the text that the sandbox
// gave. A patch that is too large or does not apply is refused and not stored. err is what collecting it came to.
func (a *Attempt) candidate(ctx context.Context, diff []byte, err error) (*solve.Candidate, error) {
	large, tooLarge := errors.AsType[tree.TooLarge](err)
	switch {
	case tooLarge:
		return &solve.Candidate{Refused: large.Error() + " (solver.patch.max_kib)"}, nil
	case err != nil || len(diff) == 0:
		return nil, err
	}
	made, err := a.with.Bases.Result(ctx, a.solve, diff)
	if errors.Is(err, git.ErrPatch) || errors.Is(err, git.ErrTooLarge) {
		return &solve.Candidate{Refused: err.Error()}, nil
	}
	if err != nil || len(made.Files) == 0 {
		return nil, err
	}
	d, err := patch.Read(patch.Difference{Files: made.Files, Before: made.Before, Paths: made.Paths, Text: made.Diff})
	if err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	lines, err := patch.Lines(made.Diff)
	if err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	flags, refused := patch.Check(d, a.settings().Patch)
	sum := sha256.Sum256(made.Diff)
	c := &solve.Candidate{
		Artifact: fmt.Sprintf("run-%d.patch", a.run.N), SHA256: hex.EncodeToString(sum[:]), Tree: made.Tree,
		Files: d.Changes, Lines: lines, Flags: flags, Refused: refused,
	}
	for _, f := range d.Changes {
		c.Added += f.Added
		c.Deleted += f.Deleted
	}
	return c, a.with.Store.PutArtifact(ctx, a.run.Solve, c.Artifact, made.Diff)
}

// harvested stores what became of the agent's work. A run without a patch ends under the
// name of what ended its agent.
func (a *Attempt) harvested(ctx context.Context, c *solve.Candidate, cancelled bool) error {
	reason := a.run.Reason
	switch {
	case cancelled && c != nil && c.Artifact != "":
		return a.stopped(ctx, "; what it had changed is kept", c)
	case cancelled:
		return a.stopped(ctx, "", nil)
	case c != nil:
		return a.apply(ctx, solve.Harvested{Candidate: *c}, "")
	case a.run.Exit == agent.ExitTime:
		return a.apply(ctx, solve.TimedOut{}, reason)
	}
	switch a.run.Exit {
	case agent.ExitSubmitted, agent.ExitLimits, agent.ExitFormat, agent.ExitEdits, agent.ExitOutput, agent.ExitBudget:
		if reason != "" {
			reason = ": " + reason
		}
		return a.apply(ctx, solve.Empty{}, "the agent changed nothing"+reason)
	}
	return a.apply(ctx, solve.Aborted{}, reason)
}
