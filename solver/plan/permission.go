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
	may, err := p.Rights.Of(ctx, s.Repo, s.Trigger.Actor, s.Trigger.Stranger, string(s.ID))
	if err != nil {
		return fault.Outside{Err: err}
	}
	if !may.Write {
		return fault.Refusal{Text: report.RefusedText(s.Trigger.Actor, may.Role), Denied: true, Silent: may.Silent}
	}
	stands, err := p.Rights.Stands(ctx, s.Repo, s.Trigger.Late, s.Trigger.CommentID, s.Trigger.Said)
	if err != nil {
		return fault.Outside{Err: err}
	}
	if !stands {
		return fault.Refusal{Text: "The comment that asked for it is gone, or says something else.", Denied: true, Silent: true}
	}
	return nil
}
