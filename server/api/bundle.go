package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yudai-dev/yudai/solve"
)

func (a API) bundleOperation() huma.Operation {
	o := a.operation(huma.Operation{
		OperationID: "solve-bundle", Method: http.MethodGet, Path: "/solve/{id}/bundle",
		Summary: "Download the signed bundle of a solve",
		Description: "A tar with a signed statement of how the solve was decided and everything that it names, which the command " +
			"yudai verify FILE --decision checks offline. It is there from the decision on, and as long as the solve's patches are kept " +
			"(store.keep_logs). The connection breaks off if the bundle cannot be finished: keep no file of a call that failed.",
		Errors:   []int{http.StatusNotFound},
		Metadata: example(`/solve/cnv8q5k6n88s73a1e0h0/bundle`, ` -o bundle.tar`),
	})
	o.Responses = answer("The bundle", &huma.Schema{Type: huma.TypeString, Format: "binary"}, "application/x-tar")
	return o
}

func (a API) bundle(ctx context.Context, in *SolveInput) (*huma.StreamResponse, error) {
	write, err := a.Bundle(ctx, solve.ID(in.ID))
	if err != nil {
		return nil, unread(ctx, err, in.ID, "bundle", "there is no bundle: the solve is unknown, not decided yet, or its files are kept no more")
	}
	return archive("bundle-"+in.ID+".tar", "bundle not finished", write), nil
}
