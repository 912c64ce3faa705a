package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

// SolveInput names a solve.
type SolveInput struct {
	ID string `path:"id" pattern:"^[0-9a-v]{20}$" example:"cnv8q5k6n88s73a1e0h0" doc:"The solve_id that POST /solve returned."`
}

// noSolve and noRun say what is not there.
const noSolve, noRun = "there is no such solve", "there is no such solve, or it has no run of this number yet"

type statusOutput struct{ Body solveStatus }

type solveStatus struct {
	SolveID     string             `json:"solve_id"`
	State       string             `json:"state" enum:"queued,preparing,running,reducing,publishing,solved,unsolved,cancelled,failed,expired" doc:"Where the solve stands; the last five are final."`
	Reason      string             `json:"reason,omitempty" doc:"Why it ended as it did."`
	Repository  string             `json:"repository" doc:"owner/name"`
	IssueNumber int                `json:"issue_number"`
	BaseBranch  string             `json:"base_branch,omitempty"`
	BaseSHA     string             `json:"base_sha,omitempty" doc:"The commit it starts from."`
	Experiments []experimentStatus `json:"experiments" nullable:"false" doc:"The runs, in the order of the plan; empty until the base is ready."`
	Champion    int                `json:"champion,omitempty" doc:"The number of the winning run; left out if there is none."`
	Grade       *gradeStatus       `json:"grade,omitempty" doc:"What shows that the champion is right; left out if there is none."`
	Withheld    int                `json:"withheld,omitempty" doc:"The number of the run that would have won, were it not unproven (solver.unproven is comment); left out otherwise."`
	PullRequest *pullStatus        `json:"pull_request,omitempty"`
	CostUSD     float64            `json:"cost_usd" doc:"What the models cost so far, all runs together, as far as their prices are known."`
	Unpriced    []string           `json:"unpriced_models,omitempty" doc:"Models whose price is not known: their calls count as 0 in every cost_usd, and no limit of money holds for them."`
	SandboxUSD  float64            `json:"sandbox_cost_usd" doc:"What the sandboxes cost so far, of the base and all runs together; limits of money do not count it."`
	Sandbox     string             `json:"sandbox,omitempty" doc:"The sandbox driver it was planned with."`
	Stop        string             `json:"stop,omitempty" enum:"all,first_green,waves" doc:"Its stop rule; left out until it is planned."`
	Wave        int                `json:"wave,omitempty" doc:"The wave whose runs may start; left out where there are no waves."`
	Waves       int                `json:"waves,omitempty" doc:"How many waves there are; left out where there are none."`
	Saved       *savedStatus       `json:"saved,omitempty" doc:"What the stop rule left out; left out if that is nothing."`
	Events      uint64             `json:"events" doc:"How many events the solve's log has."`
	CancelledBy string             `json:"cancelled_by,omitempty" doc:"Who asked to stop it."`
	CreatedAt   time.Time          `json:"created_at"`
	StartedAt   *time.Time         `json:"started_at,omitempty"`
	DeadlineAt  *time.Time         `json:"deadline_at,omitempty" doc:"When its time budget ends."`
	EndedAt     *time.Time         `json:"ended_at,omitempty"`
}

type gradeStatus struct {
	Name      string `json:"name" enum:"proven,supported,unproven" doc:"proven: a test that fails without the change passes with it, and the candidate did not write it. supported: a candidate of another model makes much the same change. unproven: neither."`
	Reason    string `json:"reason" doc:"The same of this champion, in words."`
	Precision int    `json:"precision_percent,omitempty" doc:"How many in a hundred champions of the grade were right on published issues; left out where that is not known."`
}

type savedStatus struct {
	NotRun  int     `json:"not_run" doc:"Runs that were never started."`
	Stopped int     `json:"stopped" doc:"Runs that were stopped at work."`
	USD     float64 `json:"usd,omitempty" doc:"About what they would have cost beside what they did, by what the other runs cost; left out if nobody knows."`
}

type pullStatus struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Commit string `json:"commit" doc:"The champion's commit."`
}

type experimentStatus struct {
	Run         int            `json:"run" doc:"From 1."`
	Agent       string         `json:"agent"`
	Model       string         `json:"model"`
	Temperature *float64       `json:"temperature,omitempty" doc:"Left out for a model that takes none."`
	MaxEdits    int            `json:"max_edits" doc:"0 is no limit."`
	Strategy    string         `json:"strategy"`
	Repeat      int            `json:"repeat"`
	Wave        int            `json:"wave,omitempty" doc:"The wave it belongs to; left out where there are no waves."`
	Purpose     string         `json:"purpose,omitempty" enum:"reproduce" doc:"reproduce: it writes tests from the issue, and no candidate; left out for those that work on the issue."`
	NotNeeded   bool           `json:"not_needed,omitempty" doc:"Whether the stop rule cancelled it; with attempt 0 it was never started."`
	State       string         `json:"state" enum:"queued,dispatched,working,harvesting,judging,passed,failed,no_verdict,empty,cancelled,timed_out,lost,error"`
	Reason      string         `json:"reason,omitempty"`
	Attempt     int            `json:"attempt"`
	Exit        string         `json:"exit,omitempty" doc:"The agent's own exit status."`
	Steps       int            `json:"steps"`
	Edits       int            `json:"edits"`
	AgentTimeS  float64        `json:"agent_time_s" doc:"How long the agent worked, in seconds."`
	LatencyMS   int64          `json:"latency_ms" doc:"The same in milliseconds."`
	Tokens      int64          `json:"tokens" doc:"What its model calls read and wrote, together."`
	LogsURL     string         `json:"logs_url,omitempty" doc:"Where its log is; left out until it was started."`
	PRURL       string         `json:"pr_url,omitempty" doc:"The pull request that carries its patch; left out if there is none."`
	CostUSD     float64        `json:"cost_usd"`
	SandboxUSD  float64        `json:"sandbox_cost_usd" doc:"What its own sandboxes cost, at the configured prices."`
	Files       int            `json:"files" doc:"Files in the candidate's patch."`
	Added       int            `json:"added" doc:"Lines."`
	Deleted     int            `json:"deleted" doc:"Lines."`
	Flags       []string       `json:"flags,omitempty" doc:"What people should look at before they merge."`
	Verdict     *verdictStatus `json:"verdict,omitempty"`
}

type verdictStatus struct {
	Outcome string `json:"outcome" enum:"passed,failed,no_verdict"`
	Reason  string `json:"reason,omitempty"`
	Fixed   int    `json:"fixed" doc:"Tests that failed on the base and pass now."`
	Broken  int    `json:"broken" doc:"Tests that passed on the base and do not now."`
	NewPass int    `json:"new_pass" doc:"Passing tests that the base does not have."`
}

func (a API) statusOperation() huma.Operation {
	return a.operation(huma.Operation{
		OperationID: "solve-status", Method: http.MethodGet, Path: "/solve/{id}/status",
		Summary:  "Follow a solve",
		Errors:   []int{http.StatusNotFound},
		Metadata: example(`/solve/cnv8q5k6n88s73a1e0h0/status`, ``),
	})
}

func (a API) status(ctx context.Context, in *SolveInput) (*statusOutput, error) {
	s, err := a.Solves.Solve(ctx, solve.ID(in.ID))
	var runs []solve.Run
	if err == nil {
		runs, err = a.Solves.Runs(ctx, s.ID)
	}
	if err != nil {
		return nil, unread(ctx, err, in.ID, "solve", noSolve)
	}
	return &statusOutput{Body: a.statusOf(s, runs)}, nil
}

// unread is the answer where something was not read: missing, if it is not there, or "" if it always is.
func unread(ctx context.Context, err error, id, what, missing string) error {
	if errors.Is(err, solve.ErrNotFound) && missing != "" {
		return huma.Error404NotFound(missing)
	}
	zerolog.Ctx(ctx).Error().Err(err).Str(logkey.SolveID, id).Msg(what + " not read")
	return huma.Error500InternalServerError("the " + what + " could not be read; please try again")
}

func (a API) statusOf(s solve.Solve, runs []solve.Run) solveStatus {
	out := solveStatus{
		SolveID: string(s.ID), State: string(s.State), Reason: s.Reason, Repository: s.Repo.String(), IssueNumber: s.Issue.Number,
		BaseBranch: s.Base.Branch, BaseSHA: s.Base.SHA, Experiments: []experimentStatus{}, Events: s.Seq, CancelledBy: s.CancelBy,
		CreatedAt: s.Created, StartedAt: moment(s.Started), DeadlineAt: moment(s.Deadline), EndedAt: moment(s.Ended),
	}
	if s.Decision != nil {
		out.Champion, out.Withheld = s.Decision.Champion, s.Decision.Withheld
	}
	if g := s.Grade(runs); g != "" {
		base := cmp.Or(s.Base.Branch, "the base")
		out.Grade = &gradeStatus{string(g), solve.GradeReason(runs, *s.Decision, out.Champion, base), g.Precision()}
	}
	if s.Pull != nil {
		out.PullRequest = &pullStatus{Number: s.Pull.Number, URL: s.Pull.URL, Commit: s.Pull.Commit}
	}
	var cost solve.Money
	for _, r := range runs {
		cost += r.Progress.Usage.Cost
		x := experimentOf(r)
		if r.Attempt > 0 {
			x.LogsURL = a.link(fmt.Sprintf("/solve/%s/runs/%d/log", s.ID, r.N))
		}
		if out.PullRequest != nil && r.N == out.Champion {
			x.PRURL = out.PullRequest.URL
		}
		out.Experiments = append(out.Experiments, x)
	}
	out.CostUSD, out.SandboxUSD, out.Sandbox = dollars(cost), dollars(solve.SandboxCost(s, runs)), s.Plan.Sandbox
	out.Stop, out.Wave, out.Unpriced = string(s.Plan.Stop), s.Wave, s.Plan.Unpriced
	if s.Plan.Stop == solve.StopWaves {
		out.Waves = s.Plan.Waves()
	}
	if saved := solve.SavedBy(solve.Candidates(runs)); saved.NotRun+saved.Stopped > 0 {
		out.Saved = &savedStatus{NotRun: saved.NotRun, Stopped: saved.Stopped, USD: dollars(saved.Money)}
	}
	return out
}

func experimentOf(r solve.Run) experimentStatus {
	x := r.Experiment
	out := experimentStatus{
		Run: r.N, Agent: x.Agent, Model: x.Model, Temperature: x.Temperature, MaxEdits: x.MaxEdits, Strategy: x.Strategy,
		Repeat: x.Repeat, Wave: x.Wave, Purpose: string(x.Purpose), NotNeeded: r.NotNeeded, State: string(r.State), Reason: r.Reason,
		Attempt: r.Attempt, Exit: r.Exit,
		Steps: r.Progress.Steps, Edits: r.Progress.Edits, AgentTimeS: r.AgentTime.Seconds(),
		LatencyMS: r.AgentTime.Milliseconds(), Tokens: r.Progress.Usage.Input + r.Progress.Usage.Output,
		CostUSD: dollars(r.Progress.Usage.Cost), SandboxUSD: dollars(r.SandboxCost()),
	}
	if c := r.Candidate; c != nil {
		out.Files, out.Added, out.Deleted, out.Flags = len(c.Files), c.Added, c.Deleted, c.Flags
	}
	if v := r.Verdict; v != nil {
		out.Verdict = &verdictStatus{
			Outcome: string(v.Outcome), Reason: v.Reason, Fixed: v.Fixed, Broken: v.Broken, NewPass: v.NewPass,
		}
	}
	return out
}

func dollars(m solve.Money) float64 { return float64(m) / 1e6 }

// moment is nil for a time that has not come.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
