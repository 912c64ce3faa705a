package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

func (a API) bundleOperation(api huma.API) huma.Operation {
	o := a.operation(api, huma.Operation{
		OperationID: "solve-bundle", Method: http.MethodGet, Path: "/solve/{id}/bundle",
		Summary: "Download the signed bundle of a solve",
		Description: "A tar with a signed statement of how the solve was decided and everything that it names, which the command " +
			"yudai verify FILE --decision checks offline. It is there from the decision on, and as long as the solve's patches are kept " +
			"(store.keep_logs). The connection breaks off if the bundle cannot be finished: keep no file of a call that failed.",
		Errors: []int{http.StatusNotFound},
		Metadata: map[string]any{"curl": `curl -sSf "$YUDAI_URL/solve/cnv8q5k6n88s73a1e0h0/bundle" \
  -H "Authorization: Bearer $YUDAI_API_TOKEN" -o bundle.tar`},
	})
	o.Responses = archiveResponse("The bundle")
	return o
}

func (a API) bundle(ctx context.Context, in *statusInput) (*huma.StreamResponse, error) {
	write, err := a.Bundle(ctx, solve.ID(in.ID))
	if errors.Is(err, solve.ErrNotFound) {
		return nil, huma.Error404NotFound("there is no bundle: the solve is unknown, not decided yet, or its files are kept no more")
	}
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Str(logkey.SolveID, in.ID).Msg("bundle not found")
		return nil, huma.Error500InternalServerError("the bundle could not be read; please try again")
	}
	return archive("bundle-"+in.ID+".tar", "bundle not finished", write), nil
}
