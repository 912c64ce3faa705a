package api

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
)

type validateInput struct{ Body validateRequest }

type validateRequest struct {
	Config string `json:"config" maxLength:"262144" example:"test:\n  command: make check\n" doc:"The text of a repository's .github/yudai.yml."`
}

type validateOutput struct{ Body validateAnswer }

type validateAnswer struct {
	Valid     bool              `json:"valid" doc:"Whether a solve would start with this file."`
	Read      bool              `json:"read" doc:"Whether this server reads such files at all (solver.repository.read)."`
	Problems  []validateProblem `json:"problems" nullable:"false" doc:"Everything that is wrong with it, in its order."`
	Effective *effectiveRules   `json:"effective,omitempty" doc:"What would hold for the repository; left out if the file is not valid."`
}

type validateProblem struct {
	Line    int    `json:"line" doc:"From 1; 0 if it concerns the whole file."`
	Column  int    `json:"column" doc:"From 1; 0 if it concerns the whole file."`
	Key     string `json:"key,omitempty" doc:"The dotted path of the key."`
	Message string `json:"message"`
}

type effectiveRules struct {
	Test       *effectiveTest     `json:"test,omitempty" doc:"How it is tested; left out if that is detected from its files."`
	Install    string             `json:"install,omitempty" doc:"The command that installs dependencies; left out if it is detected."`
	Network    []string           `json:"network" nullable:"false" doc:"Hosts that may be reached during install."`
	Detected   bool               `json:"network_detected" doc:"Whether the package registries of what is detected are open, too."`
	Strategies []string           `json:"strategies" nullable:"false"`
	Profiles   []effectiveProfile `json:"profiles" nullable:"false"`
	Protected  []string           `json:"protected" nullable:"false" doc:"Paths that no patch may touch."`
	Sandbox    string             `json:"sandbox,omitempty" doc:"The sandbox driver where a request names none; left out if it is the default."`
	Stop       string             `json:"stop,omitempty" enum:"all,first_green,waves" doc:"The stop rule where a request names none."`
	Limits     effectiveLimits    `json:"limits"`
}

type effectiveTest struct {
	Command string `json:"command"`
	Format  string `json:"format"`
	Report  string `json:"report,omitempty"`
}

type effectiveProfile struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty" doc:"The label that asks for a solve with it."`
}

type effectiveLimits struct {
	RunTimeS       float64 `json:"run_time_s" doc:"0 is no limit, as in all of these."`
	RunSteps       int     `json:"run_steps"`
	RunUSD         float64 `json:"run_usd"`
	SolveTimeS     float64 `json:"solve_time_s"`
	SolveUSD       float64 `json:"solve_usd"`
	Parallel       int     `json:"parallel"`
	MaxExperiments int     `json:"max_experiments"`
	SolvesPerDay   int     `json:"solves_per_day"`
	USDPerDay      float64 `json:"usd_per_day"`
}

func (a API) validateOperation() huma.Operation {
	o := a.operation(huma.Operation{
		OperationID: "validate-config", Method: http.MethodPost, Path: "/validate",
		Summary:     "Check a repository's own settings",
		Description: "Holds the text of a .github/yudai.yml against the configuration of this server, without a solve.",
		Errors:      []int{http.StatusRequestEntityTooLarge},
		Metadata: map[string]any{"curl": `curl -sS -X POST "$YUDAI_URL/validate" \
  -H "Authorization: Bearer $YUDAI_API_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{"config": "test: {command: make check}\nlimits: {run_time: 10m}\n"}'`},
	})
	o.MaxBodyBytes = 8 * solve.MaxRepoConfig // JSON can write one byte as six
	return o
}

func (a API) validate(_ context.Context, in *validateInput) (*validateOutput, error) {
	rules, problems := repoconfig.Read(solve.RepoConfigFile, []byte(in.Body.Config), a.Operator)
	out := &validateOutput{Body: validateAnswer{Valid: len(problems) == 0, Read: a.ReadsConfig, Problems: []validateProblem{}}}
	for _, p := range problems {
		out.Body.Problems = append(out.Body.Problems, validateProblem{Line: p.Line, Column: p.Column, Key: p.Key, Message: p.Text})
	}
	if out.Body.Valid {
		v := viewOf(rules)
		out.Body.Effective = &v
	}
	return out, nil
}

// viewOf shows rules to people.
func viewOf(r repoconfig.Rules) effectiveRules {
	s, l := r.Settings, r.Limits
	v := effectiveRules{
		Install: s.Install, Network: append([]string{}, s.Hosts...), Detected: !s.OnlyHosts,
		Strategies: append([]string{}, slices.Sorted(maps.Keys(r.Strategies))...),
		Profiles:   []effectiveProfile{}, Sandbox: r.Sandbox, Stop: string(r.Stop), Protected: append([]string{}, s.Patch.Protected...),
		Limits: effectiveLimits{
			RunTimeS: l.RunTime.Seconds(), RunSteps: l.RunSteps, RunUSD: float64(l.RunMoney) / 1e6,
			SolveTimeS: l.SolveTime.Seconds(), SolveUSD: float64(l.SolveMoney) / 1e6, Parallel: l.Parallel, MaxExperiments: r.MaxExperiments,
			SolvesPerDay: r.Settings.Day.Solves, USDPerDay: float64(r.Settings.Day.Money) / 1e6,
		},
	}
	if s.Test.Command != "" {
		v.Test = &effectiveTest{Command: s.Test.Command, Format: cmp.Or(s.Test.Format, "exit"), Report: s.Test.Report}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Profiles)) {
		v.Profiles = append(v.Profiles, effectiveProfile{Name: name, Label: r.Profiles[name].Label})
	}
	return v
}
