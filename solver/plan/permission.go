package plan

import (
	"context"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// permissionHolds is how long a look at somebody's rights is good for: who waited longer
// in the queue is looked up again at the start.
const permissionHolds = time.Minute

// Authorize refuses an actor who may not ask for a solve. The API's token and this
// machine's user are the operator's own.
func (p *Planner) Authorize(ctx context.Context, s solve.Solve) error {
	fresh := !s.Greeted.IsZero() && time.Since(s.Greeted) < permissionHolds
	if fresh || s.Trigger.Kind.Operator() {
		return nil
	}
	role, write, err := p.Hub.Permission(ctx, s.Repo, s.Trigger.Actor)
	if err != nil {
		return fault.Outside{Err: err}
	}
	if !write {
		return fault.Refusal{Text: report.RefusedText(s.Trigger.Actor, role), Denied: true}
	}
	return nil
}
