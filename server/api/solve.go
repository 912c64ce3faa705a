package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

type startInput struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" pattern:"^[!-~]*$" doc:"Any text of your own. A second request with the same key returns the solve that the first made; with another body it is refused. A request that finds the issue's live solve makes none, and its key stays free."`
	Body solveRequest
}

type solveRequest struct {
	RepoURL     string        `json:"repo_url" minLength:"3" maxLength:"300" example:"https://github.com/octo/hello" doc:"The repository: its https URL, or owner/name. The App must be installed on it."`
	IssueNumber int           `json:"issue_number" minimum:"1" maximum:"2147483647" example:"7" doc:"An open issue of it."`
	BaseBranch  string        `json:"base_branch,omitempty" maxLength:"255" example:"main" doc:"The branch to start from; the default branch if it is left out."`
	Profile     string        `json:"profile,omitempty" maxLength:"100" example:"cheap" doc:"The name of a profile, whose values stand for what the request leaves out: a configured one, or one of the repository's own."`
	Sandbox     string        `json:"sandbox,omitempty" maxLength:"100" example:"local" doc:"The sandbox driver, one that this server offers; the repository's own choice or the default if it is left out."`
	Stop        string        `json:"stop,omitempty" enum:"all,first_green,waves" example:"first_green" doc:"When to stop: all runs everything, first_green ends at the first candidate that is proven or supported, waves starts the next wave only if no candidate is (the configured waves, or one for each model named). The repository's own choice or the configured one if it is left out."`
	Reproduce   string        `json:"reproduce,omitempty" enum:"off,auto,always" example:"auto" doc:"Whether one more run writes tests from the issue, which judge all candidates: auto is where no test fails on the base. The repository's own choice or the configured one if it is left out."`
	Matrix      matrixRequest `json:"matrix,omitempty" doc:"What to try. Every axis that is left out has its configured values."`
	Limits      limitsRequest `json:"limits,omitempty" doc:"Limits of this solve; they can narrow the configured ones, never widen them."`
}

type matrixRequest struct {
	Models    []string  `json:"models,omitempty" nullable:"false" maxItems:"32" example:"[\"gpt-5-mini\"]" doc:"Names of configured models."`
	Temps     []float64 `json:"temps,omitempty" nullable:"false" maxItems:"32" example:"[0.2,0.8]" doc:"Temperatures, 0 to 2."`
	MaxEdits  []int     `json:"max_edits,omitempty" nullable:"false" maxItems:"32" example:"[0]" doc:"Limits of steps that change the tree; 0 is no limit."`
	Evolution []string  `json:"evolution,omitempty" nullable:"false" maxItems:"32" example:"[\"test-first\"]" doc:"Names of configured strategies."`
	Agents    []string  `json:"agents,omitempty" nullable:"false" maxItems:"32" example:"[\"mini\"]" doc:"Names of agents: those that yudai brings, and configured ones."`
	Repeat    int       `json:"repeat,omitempty" minimum:"1" maximum:"20" example:"1" doc:"How often each experiment runs."`
}

type limitsRequest struct {
	MaxParallel int `json:"max_parallel,omitempty" minimum:"1" maximum:"64" example:"4" doc:"Runs at a time."`
	TimeBudgetS int `json:"time_budget_s,omitempty" minimum:"60" maximum:"86400" example:"1800" doc:"Time for the whole solve, in seconds."`
}

type startOutput struct {
	Status   int
	Location string `header:"Location" doc:"Where the solve's state is found."`
	Body     solveAccepted
}

type solveAccepted struct {
	SolveID   string `json:"solve_id" doc:"The solve's name, 20 characters."`
	State     string `json:"state" doc:"Its state now."`
	StatusURL string `json:"status_url" doc:"Where to follow it."`
	Created   bool   `json:"created" doc:"False if the issue had a live solve already, or the key was known: this is that solve."`
}

func (a API) startOperation() huma.Operation {
	o := a.operation(huma.Operation{
		OperationID: "start-solve", Method: http.MethodPost, Path: "/solve", DefaultStatus: http.StatusAccepted,
		Summary: "Ask for the solve of an issue",
		Description: "Repository and issue are looked up on GitHub now, and the issue's text is pinned. " +
			"The answer is 202 for a new solve and 200 for one that exists.",
		Errors: []int{http.StatusRequestEntityTooLarge, http.StatusBadGateway},
		Metadata: map[string]any{"curl": `curl -sS -X POST "$YUDAI_URL/solve" \
  -H "Authorization: Bearer $YUDAI_API_TOKEN" \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: nightly-7" \
  -d '{"repo_url": "octo/hello", "issue_number": 7, "matrix": {"temps": [0.2, 0.8]}, "limits": {"max_parallel": 2}}'`},
	})
	o.Responses = map[string]*huma.Response{"200": {
		Description: "The solve that stands for this request already",
		Content: map[string]*huma.MediaType{"application/json": {
			Schema: &huma.Schema{Ref: "#/components/schemas/SolveAccepted"},
		}},
	}}
	return o
}

func (a API) start(ctx context.Context, in *startInput) (*startOutput, error) {
	req := in.Body.request()
	var problems []error
	a.Vocabulary.Check(req, func(p handlers.Problem) { problems = append(problems, detail(p)) })
	owner, name, err := a.repository(in.Body.RepoURL)
	if err != nil {
		problems = append(problems, &huma.ErrorDetail{Message: err.Error(), Location: "body.repo_url", Value: in.Body.RepoURL})
	}
	if len(problems) > 0 {
		return nil, huma.Error422UnprocessableEntity("validation failed", problems...)
	}
	repo, err := a.GitHub.Repo(ctx, owner, name)
	if err != nil {
		return nil, a.hubError(ctx, err, "body.repo_url", in.Body.RepoURL)
	}
	issue, err := a.GitHub.Issue(ctx, repo, in.Body.IssueNumber)
	if err != nil {
		return nil, a.hubError(ctx, err, "body.issue_number", in.Body.IssueNumber)
	}
	id := a.NewID()
	key := "api:" + string(id)
	if in.Key != "" {
		key = "api:" + in.Key
	}
	wanted := NewSolve(id, repo, issue, req, key)
	wanted.Trigger.At, wanted.Created = a.Now(), a.Now()
	stored, created, err := a.Solves.Create(ctx, wanted)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Str(logkey.Repo, repo.String()).Msg("solve not stored")
		return nil, huma.Error500InternalServerError("the solve could not be stored; please try again")
	}
	if stored.Trigger.Key == key && !sameWish(stored, wanted) {
		return nil, huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
			Message:  fmt.Sprintf("was used for another request (solve %s); take a new one", stored.ID),
			Location: "header.Idempotency-Key", Value: in.Key,
		})
	}
	zerolog.Ctx(ctx).Info().Str(logkey.SolveID, string(stored.ID)).Str(logkey.Repo, repo.String()).Bool(logkey.Created, created).
		Msg("solve asked for through the API")
	return a.started(stored, created), nil
}

// sameWish says whether two solves were asked for with the same body.
func sameWish(a, b solve.Solve) bool {
	asked, err := json.Marshal(a.Request) // in which an empty list is none, as in the store
	again, failed := json.Marshal(b.Request)
	return a.Repo.ID == b.Repo.ID && a.Issue.Number == b.Issue.Number && err == nil && failed == nil && bytes.Equal(asked, again)
}

func (a API) started(s solve.Solve, created bool) *startOutput {
	out := &startOutput{Status: http.StatusOK, Location: a.link("/solve/" + string(s.ID) + "/status")}
	if created {
		out.Status = http.StatusAccepted
	}
	out.Body = solveAccepted{SolveID: string(s.ID), State: string(s.State), StatusURL: out.Location, Created: created}
	return out
}

// NewSolve is a solve that the operator asked for: it names no person, so nobody's
// rights are looked up for it.
func NewSolve(id solve.ID, repo solve.Repo, issue solve.Issue, req solve.Request, key string) solve.Solve {
	now := time.Now()
	return solve.Solve{
		V: 1, ID: id, Repo: repo, Issue: issue.Pinned(), Request: req, State: solve.StateQueued, Created: now,
		Trigger: solve.Trigger{Kind: solve.TriggerAPI, Key: key, At: now},
	}
}

func (b solveRequest) request() solve.Request {
	return solve.Request{
		Profile: b.Profile, Sandbox: b.Sandbox,
		Models: b.Matrix.Models, Temps: b.Matrix.Temps, Edits: b.Matrix.MaxEdits, Strategies: b.Matrix.Evolution,
		Agents: b.Matrix.Agents, Repeat: b.Matrix.Repeat, Stop: solve.StopRule(b.Stop), Reproduce: solve.ReproduceRule(b.Reproduce),
		Parallel: b.Limits.MaxParallel, TimeBudget: time.Duration(b.Limits.TimeBudgetS) * time.Second, Base: b.BaseBranch,
	}
}

// detail places a problem of a request in its JSON body.
func detail(p handlers.Problem) *huma.ErrorDetail {
	location := map[string]string{
		"models": "matrix.models", "temps": "matrix.temps", "edits": "matrix.max_edits",
		"strategies": "matrix.evolution", "agents": "matrix.agents",
		"parallel": "limits.max_parallel", "time": "limits.time_budget_s", "base": "base_branch", "profile": "profile", "sandbox": "sandbox",
		"repeat": "matrix.repeat", "stop": "stop", "reproduce": "reproduce",
	}[p.Key]
	if strings.HasPrefix(location, "matrix.") && p.Key != "repeat" {
		location = fmt.Sprintf("%s[%d]", location, p.Index)
	}
	message := strings.ReplaceAll(p.Text, "`", "")
	if p.Nearest != "" {
		message += "; did you mean " + p.Nearest + "?"
	}
	return &huma.ErrorDetail{Message: message, Location: "body." + location, Value: p.Word}
}

// hubError tells what GitHub would not give us.
func (a API) hubError(ctx context.Context, err error, location string, value any) error {
	if answer := refused(err, location, value); answer != nil {
		return answer
	}
	zerolog.Ctx(ctx).Warn().Err(err).Msg("GitHub did not answer the API's question")
	return huma.Error502BadGateway("GitHub did not answer; please try again")
}

var repoPart = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// repository reads "owner/name" or a URL of the configured GitHub.
func (a API) repository(s string) (owner, name string, err error) {
	path := s
	if strings.Contains(s, "://") {
		web, webErr := url.Parse(a.WebURL)
		u, err := url.Parse(s)
		if err != nil || webErr != nil || u.Scheme != web.Scheme || !strings.EqualFold(u.Host, web.Host) ||
			u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return "", "", fmt.Errorf("must be %s/owner/name or owner/name", strings.TrimSuffix(a.WebURL, "/"))
		}
		path = strings.TrimPrefix(strings.TrimPrefix(u.Path, strings.TrimSuffix(web.Path, "/")), "/")
		path = strings.TrimSuffix(strings.TrimSuffix(path, "/"), ".git")
	}
	owner, name, _ = strings.Cut(path, "/")
	for _, part := range []string{owner, name} {
		if !repoPart.MatchString(part) || part == "." || part == ".." {
			return "", "", fmt.Errorf("must be %s/owner/name or owner/name", strings.TrimSuffix(a.WebURL, "/"))
		}
	}
	return owner, name, nil
}
