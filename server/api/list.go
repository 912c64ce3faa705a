package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yudai-dev/yudai/solve"
)

// maxLooked is about how many solves one call looks at: a filter that lets few pass must not read the whole store.
const maxLooked = 1000

type listInput struct {
	Limit      int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"How many solves the answer has at most."`
	Cursor     string `query:"cursor" pattern:"^[0-9a-v]{20}$" doc:"The next of the answer before, which says where this one goes on; from the newest solve on if it is left out. Do not make one yourself."`
	State      string `query:"state" enum:"queued,preparing,running,reducing,publishing,solved,unsolved,cancelled,failed,expired" doc:"Only solves in this state."`
	Repository string `query:"repository" maxLength:"300" example:"octo/hello" doc:"Only solves of this repository, owner/name."`
}

type listOutput struct{ Body solveList }

type solveList struct {
	Solves []listedSolve `json:"solves" nullable:"false" doc:"The newest first. With a filter there may be fewer than limit, or none, and still a next."`
	Next   string        `json:"next,omitempty" doc:"The cursor of the next call; left out if there are no more."`
}

type listedSolve struct {
	SolveID        string     `json:"solve_id"`
	State          string     `json:"state"`
	Repository     string     `json:"repository" doc:"owner/name"`
	IssueNumber    int        `json:"issue_number"`
	Title          string     `json:"title,omitempty" doc:"Of the issue, as it was when the solve was asked for."`
	Champion       int        `json:"champion,omitempty" doc:"The number of the winning run; left out if there is none."`
	Grade          string     `json:"grade,omitempty" enum:"proven,supported,unproven" doc:"What shows that the champion is right; left out if there is none."`
	CostUSD        float64    `json:"cost_usd" doc:"What the models cost so far, all runs together, as far as their prices are known."`
	Unpriced       []string   `json:"unpriced_models,omitempty" doc:"Models whose price is not known: their calls count as 0 in cost_usd."`
	CreatedAt      time.Time  `json:"created_at"`
	EndedAt        *time.Time `json:"ended_at,omitempty"`
	PullRequestURL string     `json:"pull_request_url,omitempty"`
}

func (a API) listOperation() huma.Operation {
	return a.operation(huma.Operation{
		OperationID: "list-solves", Method: http.MethodGet, Path: "/solve",
		Summary:     "List solves",
		Description: "The solves of all repositories, the newest first, a part at a time.",
		Metadata:    example(`/solve?state=solved&limit=20`, ``),
	})
}

func (a API) list(ctx context.Context, in *listInput) (*listOutput, error) {
	out := &listOutput{solveList{Solves: []listedSolve{}}}
	page, next, err := a.page(ctx, in)
	for _, s := range page {
		var runs []solve.Run
		runs, err = a.Solves.Runs(ctx, s.ID)
		if errors.Is(err, solve.ErrNotFound) { // removed since
			err = nil
			continue
		}
		if err != nil {
			break
		}
		out.Body.Solves = append(out.Body.Solves, listed(a.statusOf(s, runs), s.Issue.Title))
	}
	if err != nil {
		return nil, unread(ctx, err, "", "list of solves", "")
	}
	out.Body.Next = string(next)
	return out, nil
}

// page reads solves that pass the filters, and the ID below which the next call goes on; "" at the end.
func (a API) page(ctx context.Context, in *listInput) (page []solve.Solve, before solve.ID, err error) {
	before = solve.ID(in.Cursor)
	for looked := 0; looked < maxLooked; {
		some, err := a.Solves.Solves(ctx, before, in.Limit+1)
		if err != nil {
			return nil, "", err
		}
		for _, s := range some {
			if len(page) == in.Limit {
				return page, before, nil
			}
			before = s.ID
			if in.passes(s) {
				page = append(page, s)
			}
		}
		if len(some) <= in.Limit {
			return page, "", nil
		}
		looked += len(some)
	}
	return page, before, nil
}

func (in *listInput) passes(s solve.Solve) bool {
	return (in.State == "" || in.State == string(s.State)) && (in.Repository == "" || strings.EqualFold(in.Repository, s.Repo.String()))
}

// listed is what a list tells of a solve.
func listed(s solveStatus, title string) listedSolve {
	out := listedSolve{
		SolveID: s.SolveID, State: s.State, Repository: s.Repository, IssueNumber: s.IssueNumber, Title: title,
		Champion: s.Champion, CostUSD: s.CostUSD, Unpriced: s.Unpriced, CreatedAt: s.CreatedAt, EndedAt: s.EndedAt,
	}
	if s.Grade != nil {
		out.Grade = s.Grade.Name
	}
	if s.PullRequest != nil {
		out.PullRequestURL = s.PullRequest.URL
	}
	return out
}
