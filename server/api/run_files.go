package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yudai-dev/yudai/solve"
)

// RunInput names a run.
type RunInput struct {
	SolveInput
	N int `path:"n" minimum:"1" maximum:"65535" example:"1" doc:"The number of the run, from 1."`
}

type logInput struct {
	RunInput
	Log  string `query:"log" enum:"agent,tests" default:"agent" doc:"agent: the commands of the agent and their output. tests: what the tests of its candidate printed."`
	From int    `query:"from" minimum:"1" default:"1" doc:"The number of the first line that is wanted. Lines have the numbers that the pages show."`
}

func (a API) patchOperation() huma.Operation {
	o := a.operation(huma.Operation{
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

func (a API) logOperation() huma.Operation {
	o := a.operation(huma.Operation{
		OperationID: "run-log", Method: http.MethodGet, Path: "/solve/{id}/runs/{n}/log",
		Summary: "Read the log of a run",
		Description: "Whole lines, from one on to the last there is. To follow a log, ask again from the line that the header " +
			"Yudai-Next-Line names, while Yudai-Live is true. Begin with line 1 again if Yudai-Attempt has changed: another attempt is another log.",
		Errors:   []int{http.StatusNotFound},
		Metadata: example(`/solve/cnv8q5k6n88s73a1e0h0/runs/1/log?from=100`, ``),
	})
	o.Responses = answer("The lines", &huma.Schema{Type: huma.TypeString}, "text/plain")
	o.Responses["200"].Headers = map[string]*huma.Param{
		"Yudai-Next-Line": {Description: "The number of the next line.", Schema: &huma.Schema{Type: huma.TypeInteger}},
		"Yudai-Attempt":   {Description: "The attempt of the run, from 1.", Schema: &huma.Schema{Type: huma.TypeInteger}},
		"Yudai-Live":      {Description: "Whether more may come.", Schema: &huma.Schema{Type: huma.TypeBoolean}},
	}
	return o
}

func (a API) log(ctx context.Context, in *logInput) (*huma.StreamResponse, error) {
	r, err := a.Solves.Run(ctx, solve.ID(in.ID), in.N)
	if err != nil {
		return nil, unread(ctx, err, in.ID, "run", noRun)
	}
	tests := in.Log == "tests"
	lines, next, err := a.Log(ctx, r, tests, in.From)
	if err != nil {
		missing := fmt.Sprintf("run %d, which is %s, has no such log yet, or it is kept no more (store.keep_logs)", r.N, r.State)
		return nil, unread(ctx, err, in.ID, "log", missing)
	}
	header := map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "Yudai-Next-Line": strconv.Itoa(next), "Yudai-Attempt": strconv.Itoa(r.Attempt),
		"Yudai-Live": strconv.FormatBool(!tests && !r.State.Final()),
	}
	return transfer(header, "log not sent whole", func(w io.Writer) error {
		_, err := io.Copy(w, struct{ io.Reader }{bytes.NewReader(lines)}) // in pieces
		return err
	}), nil
}
