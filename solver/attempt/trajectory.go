package attempt

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
func (a *Attempt) trajectory(ctx context.Context, data []byte) {
	r, ok := a.with.Agents[a.run.Experiment.Agent].(recorder)
	if !ok && data == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := a.storeTrajectory(ctx, r, data); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("trajectory not kept, the transcript is")
	}
}

func (a *Attempt) storeTrajectory(ctx context.Context, r recorder, data []byte) error {
	if data == nil {
		lines, err := a.with.Store.Transcript(ctx, a.run.Solve, a.run.N)
		if err != nil {
			return err
		}
		data, err = r.Trajectory(lines, agent.Meta{
			Experiment: a.run.Experiment, Limits: a.solve.Plan.Limits, Progress: a.run.Progress,
			Instance: fmt.Sprintf("%s-%d", a.run.Solve, a.run.N),
		})
		if err != nil {
			return err
		}
	}
	return a.with.Store.PutArtifact(ctx, a.run.Solve, fmt.Sprintf("run-%d.traj.json", a.run.N), data)
}
