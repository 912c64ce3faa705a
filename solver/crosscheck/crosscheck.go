// Package crosscheck runs the new tests of each candidate on the other candidates, when all
// runs of a solve have ended. What they say goes into the decision.
package crosscheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/solver/prepare"
	"github.com/yudai-dev/yudai/solver/sandboxes"
)

// Store is what a Checker needs of the store.
type Store interface {
	PutArtifact(ctx context.Context, id solve.ID, name string, data []byte) error
	Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error)
}

// Bases opens sandboxes on the base of a solve.
type Bases interface {
	Open(ctx context.Context, s solve.Solve, spec sandbox.Spec, used *sandboxes.Recorder) (sandbox.Sandbox, error)
}

// Checker runs candidates' tests on other candidates.
type Checker struct {
	Store   Store
	Bases   Bases
	Drivers sandboxes.Drivers
	// Settings are those of a plan that has none.
	Settings solve.Settings
}

// Outcome is what the tests said, and the sandboxes that it took.
type Outcome struct {
	Results     []solve.CrossResult `json:"results,omitempty"`
	SandboxUses []solve.SandboxUse  `json:"stays,omitempty"`
}

// Names of the artifacts.
const (
	OutcomeArtifact = "cross.json"
	LogArtifact     = "cross-tests.log"
)

// Test runs the tests of all pairs that [solve.CrossPairs] names, one after the other, and
// stores what they say: a second call returns the same. Pairs for which there is no time, or
// whose sandbox fails, are left out; the choice does not depend on them.
func (c *Checker) Test(ctx context.Context, s solve.Solve, runs []solve.Run) (Outcome, error) {
	var out Outcome
	pairs := solve.CrossPairs(runs, s.SettingsOr(c.Settings).CrossRuns)
	if len(pairs) == 0 || s.Picked() {
		return out, nil
	}
	data, err := c.Store.Artifact(ctx, s.ID, OutcomeArtifact)
	switch {
	case err == nil:
		err = json.Unmarshal(data, &out)
		return out, err
	case !errors.Is(err, solve.ErrNotFound):
		return out, err
	case c.end(s).Before(time.Now()):
		return out, nil
	}
	base, err := c.base(ctx, s)
	if err != nil {
		return out, err
	}
	return c.test(ctx, s, runs, pairs, base)
}

// base is the report of the base's tests.
func (c *Checker) base(ctx context.Context, s solve.Solve) (judge.Report, error) {
	data, err := c.Store.Artifact(ctx, s.ID, prepare.BaseReport)
	if err != nil {
		return judge.Report{}, err
	}
	return judge.DecodeReport(data)
}

func (c *Checker) test(ctx context.Context, s solve.Solve, runs []solve.Run, pairs []solve.CrossPair, base judge.Report) (Outcome, error) {
	var out Outcome
	var log []byte
	settings, used := s.SettingsOr(c.Settings), sandboxes.NewRecorder(nil)
	bounded, cancel := context.WithDeadline(ctx, c.end(s))
	defer cancel()
	for _, pair := range pairs {
		author, subject := runOf(runs, pair.Author), runOf(runs, pair.Run)
		in, err := c.input(bounded, s, author, subject)
		if err == nil {
			in.Base, in.Trial = base, judge.TrialOf(settings, s.Base.Test)
			in.Open = func(ctx context.Context) (sandbox.Sandbox, func(), error) { return c.open(ctx, s, used) }
			var result solve.CrossResult
			var text []byte
			result, text, err = judge.Cross(bounded, in)
			result.Author, result.Run = pair.Author, pair.Run
			log = fmt.Appendf(log, "==> the tests of run %d on the candidate of run %d\n%s", pair.Author, pair.Run, text)
			if err == nil {
				out.Results = append(out.Results, result)
			}
		}
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if err != nil {
			zerolog.Ctx(ctx).Warn().Err(err).Int(logkey.Run, pair.Run).Msg("candidate's tests not run on another candidate")
		}
	}
	out.SandboxUses = used.Used()
	return out, c.store(ctx, s.ID, out, log)
}

// end is when the time for the tests is over: before that of the solve, which would have no champion then.
func (c *Checker) end(s solve.Solve) time.Time {
	const reserve = 30 * time.Second
	end := time.Now().Add(s.SettingsOr(c.Settings).CrossTime)
	if !s.Deadline.IsZero() && s.Deadline.Add(-reserve).Before(end) {
		end = s.Deadline.Add(-reserve)
	}
	return end
}

func (c *Checker) store(ctx context.Context, id solve.ID, out Outcome, log []byte) error {
	if err := c.Store.PutArtifact(ctx, id, LogArtifact, log); err != nil {
		return err
	}
	data, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return c.Store.PutArtifact(ctx, id, OutcomeArtifact, data)
}

// input reads what the two runs brought.
func (c *Checker) input(ctx context.Context, s solve.Solve, author, subject solve.Run) (in judge.CrossInput, err error) {
	if in.AuthorPatch, err = c.Store.Artifact(ctx, s.ID, author.Candidate.Artifact); err != nil {
		return in, err
	}
	in.Tests, in.Alone = author.Verdict.ProofTests, author.Verdict.ProofCommand != ""
	in.Patch, err = c.Store.Artifact(ctx, s.ID, subject.Candidate.Artifact)
	in.Changes = subject.Candidate.Files
	return in, err
}

// open opens a clean copy of the base. All have one name, one after the other: so whoever goes
// on for an owner that died finds the one that it left.
func (c *Checker) open(ctx context.Context, s solve.Solve, used *sandboxes.Recorder) (sandbox.Sandbox, func(), error) {
	name := sandboxes.CrossName(s.ID)
	sandboxes.Discard(ctx, c.Drivers, s, name)
	timeout := s.SettingsOr(c.Settings).TestTime
	sb, err := c.Bases.Open(ctx, s, sandbox.Spec{
		Name: name, From: s.Base.Image, TTL: sandboxes.Lifetime(timeout, timeout),
		Labels: map[string]string{"solve": string(s.ID), "phase": sandboxes.PhaseJudge},
	}, used)
	if err != nil {
		return nil, nil, err
	}
	return sb, func() {
		sandboxes.Close(ctx, sb)
		used.Closed()
	}, nil
}

func runOf(runs []solve.Run, n int) solve.Run {
	for _, r := range runs {
		if r.N == n {
			return r
		}
	}
	return solve.Run{}
}
