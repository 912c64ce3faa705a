package ghapp

import (
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// finished says whether what the effect shows will not change any more.
func finished(v report.View, e solve.Effect) bool {
	if e.Kind != solve.EffectRun {
		return v.Solve.State.Final()
	}
	for _, r := range v.Runs {
		if r.N == e.Run {
			return r.State.Final()
		}
	}
	return false
}
