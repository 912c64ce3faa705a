package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yudai-dev/yudai/solve"
)

type trackInput struct {
	Owner string `path:"owner" example:"octo"`
	Repo  string `path:"repo" example:"project"`
}

type trackOutput struct{ Body TrackRecord }

// TrackRecord is what the API tells of a repository's track record.
type TrackRecord struct {
	Used bool        `json:"used" doc:"Whether plans use it (solver.record)."`
	Arms []ArmRecord `json:"arms" nullable:"false" doc:"The best first."`
}

// ArmRecord is what it tells of one arm.
type ArmRecord struct {
	solve.Rate
	Expected int `json:"expected_percent" doc:"The rate that is expected of the next candidate: from here, and from the installation's other repositories as a start."`
	Low      int `json:"low_percent" doc:"With 95 % confidence the rate of the candidates here is not below this, and not above high_percent."`
	High     int `json:"high_percent"`
}

func (a API) trackOperation() huma.Operation {
	return a.operation(huma.Operation{
		OperationID: "track-record", Method: http.MethodGet, Path: "/repos/{owner}/{repo}/record",
		Summary: "Tell the track record of a repository",
		Description: "How often the candidates of each model with its agent and strategy were right there: won of those that are known, from " +
			"verdicts and from pull requests that were merged or closed; and alpha and beta of the Beta distribution that plans use.",
		Errors:   []int{http.StatusNotFound},
		Metadata: example(`/repos/octo/project/record`, ``),
	})
}

func (a API) trackRecord(ctx context.Context, in *trackInput) (*trackOutput, error) {
	records, err := a.Solves.TrackRecords(ctx)
	if err != nil {
		return nil, unread(ctx, err, "", "track record", "")
	}
	rates, err := solve.RatesOf(in.Owner+"/"+in.Repo, records)
	if errors.Is(err, solve.ErrNotFound) {
		return nil, huma.Error404NotFound("nothing is known of this repository: no solve of it has ended")
	}
	out := &trackOutput{TrackRecord{Used: a.UsesRecords, Arms: []ArmRecord{}}}
	for _, r := range rates {
		low, high := r.Interval()
		out.Body.Arms = append(out.Body.Arms, ArmRecord{Rate: r, Expected: r.Percent(), Low: low, High: high})
	}
	return out, err
}
