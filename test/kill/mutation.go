package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
)

// trap is a place and the conditions that show a mutation.
type trap struct {
	points []string
	pace   func(*pacing)
	// proof is what the campaign must say: that something else went wrong, such as
	// a machine too busy, does not count.
	proof string
}

// mutations lists the faults that a campaign must notice.
func mutations() []failpoint.Mutation { return slices.Sorted(maps.Keys(traps())) }

// traps are as small as they can be: one crash at the place where the promise
// is kept, under the conditions that it is for.
func traps() map[failpoint.Mutation]trap {
	return map[failpoint.Mutation]trap{
		// The answer is out, the commit is not.
		failpoint.AnswerBeforeCommit: {points: []string{"label:store.accept.before=kill@1", "comment:store.accept.before=kill@1", "cancel:store.accept.before=kill@1"}, proof: "was acknowledged and is not stored"},
		// The comment is there, its receipt is not.
		failpoint.NoLookup: {points: []string{
			"label:github.POST.issues-comments.after=kill@1", "label:github.POST.issues-comments.after=kill@2",
		}, proof: "2 comments of kind"},
		// The same, and GitHub's lists lag longer than the dead writer's claim.
		failpoint.NoSettle: {
			points: []string{"label:github.POST.issues-comments.after=kill@1", "label:github.POST.issues-comments.after=kill@2"},
			proof:  "2 comments of kind",
			pace:   func(p *pacing) { p.settle, p.lag = 9*time.Second, 8*time.Second },
		},
		// A writer stands still between claim and write until its node's lease is
		// over, but not yet its claim.
		failpoint.NoTokenCheck: {
			points: []string{"label:store.claim-effect.after=stop@1", "label:store.claim-effect.after=stop@3"},
			proof:  "a process whose lease was over wrote to GitHub",
			pace:   func(p *pacing) { p.lease, p.settle = 10*time.Second, 4*time.Second },
		},
		// A sweep that read the store before the solve began lists its sandboxes.
		failpoint.SweepBeforeList: {
			points: []string{"label:sandbox.sweep.before=stall@1", "label:sandbox.sweep.before=stall@2"},
			proof:  "and started again", // its sandbox was swept from under a living run
			pace:   func(p *pacing) { p.model, p.stall = 600*time.Millisecond, 1500*time.Millisecond },
		},
	}
}

// pacing is the trap's.
func (t trap) pacing() pacing {
	pace := usualPacing()
	pace.patience = 15 * time.Second
	pace.heal = 0 // it would find what the fault has lost
	if t.pace != nil {
		t.pace(&pace)
	}
	return pace
}

// mutated plays the traps of one mutation. caught says that the campaign failed, as it must.
func (c *campaign) mutated(ctx context.Context, m failpoint.Mutation) (caught bool, err error) {
	t := traps()[m]
	one := &campaign{options: c.options, dir: c.dir, program: c.program, out: c.out, errs: c.errs, began: time.Now()}
	one.mutation = string(m)
	for i, text := range t.points {
		p, err := parsePoint(text)
		if err != nil {
			return false, err
		}
		report, reached, err := one.one(ctx, p, filepath.Join(c.dir, fmt.Sprintf("%s-%d", m, i)), t.pacing())
		if err != nil {
			return false, err
		}
		one.count(p, report, reached)
		if caught = strings.Contains(report.String(), t.proof); caught {
			break // the others are for when a machine's pace hides it once
		}
	}
	fmt.Fprintf(c.out, "%s: %d points: %d lost, %d doubled, %d leaked, %d paid twice\n", m, one.done, one.lost, one.doubled, one.leaked, one.twice)
	return caught, nil
}

// mutations plays all of them, each twice: with the fault, which must be caught,
// and the same points without it, which must pass. failed says that it was not so.
func (c *campaign) mutations(ctx context.Context) (failed bool, err error) {
	var missed []failpoint.Mutation
	for _, m := range mutations() {
		caught, err := c.mutated(ctx, m)
		if err != nil {
			return true, err
		}
		if !caught {
			missed = append(missed, m)
		}
	}
	fmt.Fprintf(c.out, "%d of %d mutations caught in %s\n", len(traps())-len(missed), len(traps()), time.Since(c.began).Round(time.Second))
	slices.Sort(missed)
	for _, m := range missed {
		fmt.Fprintf(c.out, "not caught: %s\n", m)
	}
	return len(missed) > 0, nil
}
