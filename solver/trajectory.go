package solver

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
)

// recorder is what an agent may also be: it turns a stored transcript into the
// trajectory file that mini-SWE-agent's inspector opens.
type recorder interface {
	Trajectory(lines []byte, meta agent.Meta) ([]byte, error)
}

// trajectory keeps the run's trajectory file beside its patch: the agent's own, data, or
// one that is made from the stored transcript. One that cannot be written costs the run nothing.
func (w *worker) trajectory(ctx context.Context, data []byte) {
	r, ok := w.Agents[w.run.Experiment.Agent].(recorder)
	if !ok && data == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	var lines []byte
	var err error
	if data == nil {
		lines, err = w.Store.Transcript(ctx, w.run.Solve, w.run.N)
	}
	if data == nil && err == nil {
		data, err = r.Trajectory(lines, agent.Meta{
			Experiment: w.run.Experiment, Limits: w.solve.Plan.Limits, Progress: w.run.Progress,
			Instance: fmt.Sprintf("%s-%d", w.run.Solve, w.run.N),
		})
	}
	if err == nil {
		err = w.Store.PutArtifact(ctx, w.run.Solve, fmt.Sprintf("run-%d.traj.json", w.run.N), data)
	}
	if err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("trajectory not kept, the transcript is")
	}
}
