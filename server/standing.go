package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
)

// content reads all that an answer holds. Where it breaks off, the server is away.
func content(res *http.Response) ([]byte, error) {
	text, err := io.ReadAll(res.Body)
	if err != nil {
		err = fmt.Errorf("%w (%w)", ErrAway, err)
	}
	return text, err
}

// Standing is how a solve stands, as a server tells it.
type Standing struct {
	Told api.SolveStatus
	JSON json.RawMessage // the same, as it came
}

// Solves asks for solves, the newest first, as many as are taken. The query has the filters of GET /solve.
func (c Client) Solves(ctx context.Context, query url.Values) iter.Seq2[api.ListedSolve, error] {
	return func(yield func(api.ListedSolve, error) bool) {
		query := maps.Clone(query) // the caller keeps its own
		for next := "-"; next != ""; query.Set("cursor", next) {
			var page api.SolveList
			if _, err := c.getJSON(ctx, "/solve?"+query.Encode(), &page); err != nil {
				yield(api.ListedSolve{}, err)
				return
			}
			for _, s := range page.Solves {
				if !yield(s, nil) {
					return
				}
			}
			next = page.Next
		}
	}
}

// wholeID is how many characters the ID of a solve has.
const wholeID = 20

// Find is the ID of the one solve whose ID begins so. A whole ID is taken as it is, and "" is none.
func (c Client) Find(ctx context.Context, begins string) (string, error) {
	switch len(begins) {
	case 0:
		return "", errors.New("the ID of the solve is empty; `yudai runs` lists the solves")
	case wholeID:
		return begins, nil
	}
	none := fmt.Errorf("%w: no ID of a solve begins with %q; `yudai runs` lists the solves", solve.ErrNotFound, begins)
	if len(begins) > wholeID {
		return "", none
	}
	var found []string
	for s, err := range c.Solves(ctx, url.Values{"limit": {"100"}}) {
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(s.SolveID, begins) {
			found = append(found, s.SolveID)
		}
		if len(found) > 1 || s.SolveID < begins { // IDs go down
			break
		}
	}
	switch len(found) {
	case 0:
		return "", none
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%q begins the IDs of several solves, such as %s: write more of it", begins, strings.Join(found, " and "))
}

// Status asks how a solve stands.
func (c Client) Status(ctx context.Context, id string) (s Standing, err error) {
	s.JSON, err = c.getJSON(ctx, "/solve/"+url.PathEscape(id)+"/status", &s.Told)
	return s, err
}

// Start asks for a solve with the body of POST /solve, and with an idempotency key unless that is "".
func (c Client) Start(ctx context.Context, body []byte, key string) (told api.SolveAccepted, err error) {
	_, err = c.doJSON(ctx, call{method: http.MethodPost, path: "/solve", body: body, key: key}, &told)
	return told, err
}

// Cancel asks to stop a solve, and tells how it stands then.
func (c Client) Cancel(ctx context.Context, id string) (s Standing, err error) {
	s.JSON, err = c.doJSON(ctx, call{method: http.MethodPost, path: "/solve/" + url.PathEscape(id) + "/cancel"}, &s.Told)
	return s, err
}

// RunPatch is the patch of a run, and what it was made from.
type RunPatch struct {
	Solve  string `json:"solve_id"`
	Run    int    `json:"run"`
	Branch string `json:"base_branch"`
	Base   string `json:"base_sha"`
	Patch  string `json:"patch" jsonschema:"untrusted: what the agent changed"`
}

// RunOf reads which run is meant, the champion for "". The patch itself is not asked for.
func (s Standing) RunOf(run string) (p RunPatch, err error) {
	t := s.Told
	p = RunPatch{Solve: t.SolveID, Run: t.Champion, Branch: t.BaseBranch, Base: t.BaseSHA}
	switch {
	case run != "":
		if p.Run, err = strconv.Atoi(run); err != nil || p.Run < 1 || p.Run > len(t.Experiments) {
			return p, fmt.Errorf("%q is no run: the solve is %s and has %s", run, t.State, solve.Count(len(t.Experiments), "run"))
		}
	case p.Run == 0:
		return p, errors.New("the solve has no champion: name a run; `yudai status` lists them")
	}
	return p, nil
}

// Patch asks for the patch of a run.
func (c Client) Patch(ctx context.Context, id string, run int) (patch []byte, err error) {
	err = c.do(ctx, reading(fmt.Sprintf("/solve/%s/runs/%d/patch", url.PathEscape(id), run), "text/x-diff", func(res *http.Response) error {
		patch, err = content(res)
		return err
	}))
	return patch, err
}

// LogPart is a part of a run's log.
type LogPart struct {
	Text    []byte
	Next    int  // the number of the line behind it
	Attempt int  // of the run; each has a log of its own
	Live    bool // whether more may come
}

// Log asks for a log of a run, agent or tests, from a line on.
func (c Client) Log(ctx context.Context, id string, run int, name string, from int) (p LogPart, err error) {
	query := url.Values{"log": {name}, "from": {strconv.Itoa(from)}}
	path := fmt.Sprintf("/solve/%s/runs/%d/log?%s", url.PathEscape(id), run, query.Encode())
	err = c.do(ctx, reading(path, "text/plain", func(res *http.Response) (err error) {
		p.Next, _ = strconv.Atoi(res.Header.Get("Yudai-Next-Line"))
		p.Attempt, _ = strconv.Atoi(res.Header.Get("Yudai-Attempt"))
		p.Live = res.Header.Get("Yudai-Live") == "true"
		p.Text, err = content(res)
		return err
	}))
	return p, err
}

// Record asks for everything stored about a solve. Of a newer server's record it reads what it knows.
func (c Client) Record(ctx context.Context, id string) (rec solve.Record, raw json.RawMessage, err error) {
	raw, err = c.getJSON(ctx, "/solve/"+url.PathEscape(id)+"/record", &rec)
	if err == nil && rec.V != solve.RecordVersion {
		err = fmt.Errorf("the server's record has version %d, this program reads %d: use the server's own version of yudai",
			rec.V, solve.RecordVersion)
	}
	return rec, raw, err
}

// View is what texts are made from: the states, and each run with its steps and its cost.
func (s Standing) View() report.View {
	t := s.Told
	v := report.View{Solve: solve.Solve{
		ID: solve.ID(t.SolveID), State: solve.State(t.State), Reason: t.Reason, Wave: t.Wave, Created: t.CreatedAt,
		Plan: solve.Plan{Unpriced: t.Unpriced},
	}}
	if t.EndedAt != nil {
		v.Solve.Ended = *t.EndedAt
	}
	for _, x := range t.Experiments {
		e := solve.Experiment{
			Agent: x.Agent, Model: x.Model, Temperature: x.Temperature, MaxEdits: x.MaxEdits, Strategy: x.Strategy, Repeat: x.Repeat,
			Wave: x.Wave, Purpose: solve.Purpose(x.Purpose),
		}
		v.Solve.Plan.Experiments = append(v.Solve.Plan.Experiments, e)
		v.Runs = append(v.Runs, solve.Run{
			N: x.Run, Experiment: e, State: solve.RunState(x.State), Reason: x.Reason,
			Progress: solve.Progress{Steps: x.Steps, Usage: solve.Usage{Calls: int(min(x.Tokens, 1)), Cost: solve.Dollars(x.CostUSD)}},
		})
	}
	return v
}
