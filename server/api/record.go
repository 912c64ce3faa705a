package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yudai-dev/yudai/solve"
)

// fileOutput is an answer that is no JSON of ours.
type fileOutput struct {
	Type string `header:"Content-Type"`
	Body []byte
}

func (a API) recordOperation() huma.Operation {
	o := a.operation(huma.Operation{
		OperationID: "solve-record", Method: http.MethodGet, Path: "/solve/{id}/record",
		Summary:     "Export a solve",
		Description: "The whole record with its runs and events, as the command yudai reduce --explain FILE reads it to recompute the champion.",
		Errors:      []int{http.StatusNotFound},
		Metadata:    example(`/solve/cnv8q5k6n88s73a1e0h0/record`, ` -o record.json`),
	})
	o.Responses = answer("The record", &huma.Schema{Type: huma.TypeObject}, "application/json")
	return o
}

// record exports a solve as package solve reads it back.
func (a API) record(ctx context.Context, in *SolveInput) (*fileOutput, error) {
	rec, err := a.Record(ctx, solve.ID(in.ID))
	var data []byte
	if err == nil {
		data, err = json.MarshalIndent(rec, "", "  ")
	}
	if err != nil {
		return nil, unread(ctx, err, in.ID, "solve", noSolve)
	}
	return &fileOutput{Type: "application/json", Body: data}, nil
}
