package ghapp

import (
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// tooSoon says whether a comment or check run was updated less than
// write.progress_every ago. Its last update does not wait.
func (w *Writer) tooSoon(e solve.Effect, now time.Time) bool {
	return e.Kind.Level() && e.Applied > 0 && now.Before(e.Done.Add(w.cfg.ProgressEvery))
}

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
