package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yudai-dev/yudai/solve"
)

// RunInput names a run.
type RunInput struct {
	SolveInput
	N int `path:"n" minimum:"1" maximum:"65535" example:"1" doc:"The number of the run, from 1."`
}

func (a API) patchOperation(api huma.API) huma.Operation {
	o := a.operation(api, huma.Operation{
		OperationID: "run-patch", Method: http.MethodGet, Path: "/solve/{id}/runs/{n}/patch",
		Summary: "Download the patch of a run",
		Description: "What the run changed, as a patch of the base commit that git apply takes. It is there as soon as the agent has " +
			"ended, also of runs that did not win, and as long as the solve's files are kept (store.keep_logs).",
		Errors:   []int{http.StatusNotFound},
		Metadata: example(`/solve/cnv8q5k6n88s73a1e0h0/runs/1/patch`, ` | git apply`),
	})
	o.Responses = answer("The patch", &huma.Schema{Type: huma.TypeString}, "text/x-diff")
	return o
}

func (a API) patch(ctx context.Context, in *RunInput) (*fileOutput, error) {
	r, err := a.Solves.Run(ctx, solve.ID(in.ID), in.N)
	if err != nil {
		return nil, unread(ctx, err, in.ID, "run", noRun)
	}
	switch c := r.Candidate; {
	case c == nil:
		return nil, huma.Error404NotFound(fmt.Sprintf("run %d has no patch: it is %s", r.N, r.State))
	case c.Artifact == "":
		return nil, huma.Error404NotFound(fmt.Sprintf("the patch of run %d was too large to keep", r.N))
	default:
		data, err := a.Solves.Artifact(ctx, r.Solve, c.Artifact)
		if err != nil {
			return nil, unread(ctx, err, in.ID, "patch", "the patch is kept no more (store.keep_logs)")
		}
		return &fileOutput{Type: "text/x-diff", Body: data}, nil
	}
}
