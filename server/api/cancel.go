package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

func (a API) cancelOperation() huma.Operation {
	return a.operation(huma.Operation{
		OperationID: "cancel-solve", Method: http.MethodPost, Path: "/solve/{id}/cancel",
		Summary: "Cancel a solve",
		Description: "Its runs are stopped and nothing is published, unless the writing of its pull request has begun. The answer is the " +
			"status at this moment: what is at work ends within seconds. A solve that has ended stays as it is.",
		Errors: []int{http.StatusNotFound},
		Metadata: map[string]any{"curl": `curl -sSf -X POST "$YUDAI_URL/solve/cnv8q5k6n88s73a1e0h0/cancel" \
  -H "Authorization: Bearer $YUDAI_API_TOKEN"`},
	})
}

func (a API) cancel(ctx context.Context, in *SolveInput) (*statusOutput, error) {
	if _, err := a.Solves.RequestCancel(ctx, solve.ID(in.ID), "", "it was cancelled through the API"); err != nil {
		return nil, unread(ctx, err, in.ID, "solve", noSolve)
	}
	zerolog.Ctx(ctx).Info().Str(logkey.SolveID, in.ID).Msg("cancel asked for through the API")
	return a.status(ctx, in)
}
