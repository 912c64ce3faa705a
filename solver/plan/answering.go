package plan

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// answering is the matrix without the models that are set up wrongly: their first call would fail, when the repository is prepared
// already. If no model is left, the reason names each with its fix. A model server that only fails now is told of, and kept.
func (p *Planner) answering(ctx context.Context, s solve.Solve, rules repoconfig.Rules, records []solve.TrackRecord) (solve.Plan, error) {
	plan, err := p.matrix(s, rules, records)
	if err != nil {
		return plan, err
	}
	var good, wrong, notes []string
	models := plan.Models()
	errs := make([]error, len(models))
	var asking sync.WaitGroup
	for i, name := range models {
		asking.Go(func() { errs[i] = p.Models.Answers(ctx, name) })
	}
	asking.Wait()
	for i, err := range errs {
		if no := (interface{ Wrong() bool })(nil); errors.As(err, &no) && no.Wrong() {
			wrong = append(wrong, fault.Public(err))
			notes = append(notes, fault.Public(err)+". The others go on without it")
			continue
		}
		if err != nil {
			notes = append(notes, fault.Public(err)+". Its runs ask it again")
		}
		good = append(good, models[i])
	}
	switch {
	case ctx.Err() != nil:
		return plan, context.Cause(ctx)
	case len(good) == 0:
		return plan, fault.Refuse("No model of this solve can be used:\n" + strings.Join(wrong, "\n"))
	case len(wrong) > 0:
		choice := plan.Choice
		s.Request.Models = good
		plan, err = p.matrix(s, rules, records)
		plan.Choice = choice
	}
	plan.Notes = append(plan.Notes, notes...)
	return plan, err
}
