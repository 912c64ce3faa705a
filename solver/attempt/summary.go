package attempt

import (
	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
)

// LastAction is what these lines of a transcript say that the agent did last, as [solve.Progress.Last] has it; "" if they say
// nothing, or what looks like a credential.
func LastAction(lines []byte) string {
	last := agent.LastAction(lines)
	if patch.LooksSecret(last) {
		return ""
	}
	return solve.Clip(last, solve.MaxAction)
}
