package plan_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
	"github.com/yudai-dev/yudai/solver/plan"
	"github.com/yudai-dev/yudai/solver/rights"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// world is what a planner asks: a GitHub, a store and models.
type world struct {
	plan.Store
	earlier   solve.Solve
	runs      []solve.Run
	artifacts map[string]string // by "solve/name"

	failing map[string]error

	role      string
	issue     solve.IssueNow
	branchErr error
	hubErr    error
	config    string
	asked     []string // what GitHub was asked for
	unready   error
	ready     func(model string) error // in the place of unready
	tracks    []solve.TrackRecord
}

func (w *world) Solve(context.Context, solve.ID) (solve.Solve, error) { return w.earlier, nil }
func (w *world) Runs(context.Context, solve.ID) ([]solve.Run, error)  { return w.runs, nil }
func (w *world) Ready(name string) error {
	if w.ready != nil {
		return w.ready(name)
	}
	return w.unready
}
func (w *world) TrackRecords(context.Context) ([]solve.TrackRecord, error) { return w.tracks, nil }
func (w *world) Temperature(string) solve.TemperatureRule                  { return solve.TemperatureAccepted }
func (w *world) Vendor(name string) string                                 { return name[:1] }
func (w *world) Answers(_ context.Context, name string) error              { return w.failing[name] }
func (w *world) Metered(name string) bool                                  { return name != "unpriced" }
func (w *world) UsualCost(name string) solve.Money                         { return solve.Money(len(name)) }
func (w *world) APIs(string) []string                                      { return nil }
func (w *world) PutArtifact(_ context.Context, id solve.ID, name string, data []byte) error {
	w.artifacts[string(id)+"/"+name] = string(data)
	return nil
}

func (w *world) Artifact(_ context.Context, id solve.ID, name string) ([]byte, error) {
	if err := solve.CheckArtifact(id, name); err != nil {
		return nil, err
	}
	data, ok := w.artifacts[string(id)+"/"+name]
	if !ok {
		return nil, solve.ErrNotFound
	}
	return []byte(data), nil
}

func (w *world) Permission(_ context.Context, _ solve.Repo, login string) (string, bool, error) {
	w.asked = append(w.asked, "permission of "+login)
	return w.role, w.role == "write", w.hubErr
}

func (w *world) Issue(context.Context, solve.Repo, int) (solve.IssueNow, error) {
	return w.issue, w.hubErr
}

func (w *world) Branch(_ context.Context, _ solve.Repo, name string) (string, error) {
	return "sha of " + name, w.branchErr
}

func (w *world) Config(_ context.Context, _ solve.Repo, sha string) (string, []byte, error) {
	w.asked = append(w.asked, "config at "+sha)
	if w.config == "" {
		return "", nil, solve.ErrNotFound
	}
	return solve.RepoConfigFile, []byte(w.config), nil
}

func newWorld() *world {
	return &world{role: "write", issue: solve.IssueNow{Open: true}, artifacts: map[string]string{}}
}

func (w *world) planner() *plan.Planner {
	return &plan.Planner{
		Store: w, Hub: w, Rights: rights.New(w), Models: w, Drivers: fakesandbox.Only{Driver: fakesandbox.New(nil)},
		Rules: plan.Rules{
			Operator: func() repoconfig.Operator {
				return repoconfig.Operator{Rules: repoconfig.Rules{MaxExperiments: 10, Limits: solve.Limits{RunMoney: 100}, Stop: solve.StopAll}}
			},
			Defaults: func(r repoconfig.Rules) solve.Defaults {
				return solve.Defaults{Models: []string{"m", "unpriced"}, Agents: []string{"mini"}, MaxExperiments: r.MaxExperiments, Limits: r.Limits}
			},
			ReadRepository: true, Branch: "fix-{issue}-{solve}", Records: true,
		},
	}
}

func request() solve.Solve {
	return solve.Solve{
		ID: "s1", Repo: solve.Repo{ID: 7, Owner: "octo", Name: "project", DefaultBranch: "main"}, Issue: solve.Issue{Number: 5},
		Trigger: solve.Trigger{Kind: solve.TriggerLabel, Actor: "ann"},
	}
}

func TestAuthorize(t *testing.T) {
	t.Parallel()
	down := errors.New("no answer")
	for name, c := range map[string]struct {
		role    string
		err     error
		kind    solve.TriggerKind
		greeted time.Duration // ago; 0 is never
		looks   int
		denied  bool
	}{
		"may write":              {role: "write", looks: 1},
		"may read":               {role: "read", looks: 1, denied: true},
		"looked up lately":       {role: "read", greeted: 30 * time.Second},
		"looked up too long ago": {role: "read", greeted: 2 * time.Minute, looks: 1, denied: true},
		"the operator's token":   {role: "read", kind: solve.TriggerAPI},
		"GitHub is down":         {err: down, looks: 1},
	} {
		w, s := newWorld(), request()
		w.role, w.hubErr = c.role, c.err
		if c.kind != "" {
			s.Trigger.Kind = c.kind
		}
		if c.greeted != 0 {
			s.Greeted = time.Now().Add(-c.greeted)
		}
		err := w.planner().Authorize(t.Context(), s)
		var no fault.Refusal
		var outside fault.Outside
		denied := errors.As(err, &no) && no.Denied
		if denied != c.denied || len(w.asked) != c.looks || errors.As(err, &outside) != (c.err != nil) {
			t.Errorf("%s: %v after %q", name, err, w.asked)
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	w, s := newWorld(), request()
	s.Request.Base, s.Request.Repeat = "next", 2
	got, err := w.planner().Plan(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Plan.Experiments) != 4 || got.Plan.Sandbox != "fake" || got.Branch != "fix-5-s1" {
		t.Errorf("plan %+v, branch %s", got.Plan, got.Branch)
	}
	if got.Base.Branch != "next" || got.Base.SHA != "sha of next" || w.asked[0] != "config at sha of next" {
		t.Errorf("base %+v, asked %q", got.Base, w.asked)
	}
	if !slices.Equal(got.Plan.Unpriced, []string{"unpriced"}) {
		t.Errorf("models without a price %q", got.Plan.Unpriced)
	}
}

// TestModelsAreAskedFirst: a model that is set up wrongly is left out, and told; if none is left, the solve is refused with what to
// mend. A server that only fails now is told and kept.
func TestModelsAreAskedFirst(t *testing.T) {
	t.Parallel()
	key, away := model.NotPassed("m", 401, "the key was refused (HTTP 401); check THE_KEY"), model.NotPassed("m", 503, "the provider failed; check base_url")
	unknown := model.NotPassed("unpriced", 404, "the provider does not know it; check model and base_url")
	for name, c := range map[string]struct {
		failing map[string]error
		models  []string
		note    string
		refused string
	}{
		"all answer":   {nil, []string{"m", "unpriced"}, "", ""},
		"a wrong key":  {map[string]error{"m": key}, []string{"unpriced"}, "model m: the key was refused (HTTP 401); check THE_KEY. The others go on without it", ""},
		"a late one":   {map[string]error{"m": away}, []string{"m", "unpriced"}, "model m: the provider failed; check base_url. Its runs ask it again", ""},
		"none is left": {map[string]error{"m": key, "unpriced": unknown}, nil, "", "No model of this solve can be used:\n" + key.Public() + "\n" + unknown.Public()},
		"all are late": {map[string]error{"m": away, "unpriced": away}, []string{"m", "unpriced"}, "Its runs ask it again", ""},
	} {
		w, s := newWorld(), request()
		w.failing = c.failing
		got, err := w.planner().Plan(t.Context(), s)
		var no fault.Refusal
		if errors.As(err, &no); no.Text != c.refused || (err != nil) != (c.refused != "") {
			t.Errorf("%s: refused with %v", name, err)
		}
		if notes := strings.Join(got.Plan.Notes, "\n"); err == nil && (!slices.Equal(got.Plan.Models(), c.models) || (notes != "") != (c.note != "") || !strings.Contains(notes, c.note)) {
			t.Errorf("%s: models %q, notes %q", name, got.Plan.Models(), notes)
		}
	}
}

// TestReproducerIsPlanned beside the matrix, and not where the base of a solve is a candidate.
func TestReproducerIsPlanned(t *testing.T) {
	t.Parallel()
	w, s := newWorld(), request()
	w.config = "reproduce: always\n"
	p := w.planner()
	operator := p.Rules.Operator()
	operator.Settings.Reproduce, operator.Settings.CrossRuns = solve.ReproduceAlways, 9
	p.Rules.Operator = func() repoconfig.Operator { return operator }
	got, err := p.Plan(t.Context(), s)
	if err != nil || got.Plan.Reproducer == nil || got.Plan.Reproducer.Purpose != solve.PurposeReproduce || len(got.Plan.Experiments) != 2 {
		t.Fatalf("%+v, %v", got.Plan, err)
	}
	runs, err := p.Runs(t.Context(), got)
	if err != nil || len(runs) != 3 || runs[2].N != 3 || !runs[2].Reproduces() {
		t.Errorf("%+v, %v", runs, err)
	}
	s.Request.Reproduce = solve.ReproduceOff
	if got, err := p.Plan(t.Context(), s); err != nil || got.Plan.Reproducer != nil {
		t.Errorf("turned off by who asks: %+v, %v", got.Plan.Reproducer, err)
	}
	s.Request.Reproduce = ""
	s.Follows = &solve.Follow{Kind: solve.FollowRevise, Of: "s0", Text: "more", Pull: &solve.Pull{}}
	if got, err := p.Plan(t.Context(), s); err != nil || got.Plan.Reproducer != nil {
		t.Errorf("a revision: %+v, %v", got.Plan.Reproducer, err)
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world, s *solve.Solve)
		want   string
	}{
		"issue gone":        {func(w *world, _ *solve.Solve) { w.hubErr = solve.ErrNotFound }, "not there any more"},
		"issue closed":      {func(w *world, _ *solve.Solve) { w.issue.Open = false }, "is not open"},
		"pull request":      {func(w *world, _ *solve.Solve) { w.issue.Pull = true }, "is a pull request"},
		"no default branch": {func(w *world, _ *solve.Solve) { w.branchErr = solve.ErrNotFound }, `default branch "main"`},
		"no base branch": {func(w *world, s *solve.Solve) {
			w.branchErr, s.Request.Base = solve.ErrNotFound, "v1"
		}, `base branch "v1" does not exist`},
		"empty repository": {func(w *world, _ *solve.Solve) { w.branchErr = solve.ErrNoCommit }, "is empty"},
		"bad file":         {func(w *world, _ *solve.Solve) { w.config = "nonsense: 1" }, "nonsense"},
		"unknown profile":  {func(_ *world, s *solve.Solve) { s.Request.Profile = "cheap" }, "cheap"},
		"too many":         {func(_ *world, s *solve.Solve) { s.Request.Repeat = 20 }, "40"},
		"unknown sandbox":  {func(_ *world, s *solve.Solve) { s.Request.Sandbox = "moon" }, "Choose one of: fake"},
		"model not ready":  {func(w *world, _ *solve.Solve) { w.unready = errors.New("no key") }, "no key"},
	} {
		w, s := newWorld(), request()
		c.change(w, &s)
		_, err := w.planner().Plan(t.Context(), s)
		if no := (fault.Refusal{}); !errors.As(err, &no) || !strings.Contains(no.Text, c.want) {
			t.Errorf("%s: %v, want a refusal with %q", name, err, c.want)
		}
	}
}

// TestRetryReusesPassedRuns: a retry makes only those runs again that did not pass.
func TestRetryReusesPassedRuns(t *testing.T) {
	t.Parallel()
	w, s := newWorld(), request()
	s.Follows = &solve.Follow{Of: "s0", Kind: solve.FollowRetry}
	s.Plan.Experiments = []solve.Experiment{{Model: "a"}, {Model: "b"}}
	s.Plan.Reproducer, s.Plan.Settings = &solve.Experiment{Model: "c", Purpose: solve.PurposeReproduce}, &solve.Settings{}
	w.runs = []solve.Run{
		{
			Solve: "s0", N: 1, State: solve.RunPassed,
			Candidate: &solve.Candidate{Artifact: "run-1.patch"}, Verdict: &solve.Verdict{Outcome: solve.Passed, Log: "log"},
		},
		{Solve: "s0", N: 2, State: solve.RunFailed},
		{Solve: "s0", N: 3, State: solve.RunPassed, Experiment: *s.Plan.Reproducer, Candidate: &solve.Candidate{Artifact: "run-3.patch"}},
	}
	for _, name := range []string{"run-1.patch", "run-3.patch"} {
		if _, err := w.planner().Runs(t.Context(), s); !errors.As(err, &fault.Refusal{}) {
			t.Errorf("without %s: %v, want a refusal", name, err)
		}
		w.artifacts["s0/"+name] = "diff of " + name
	}
	runs, err := w.planner().Runs(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if from := runs[0].From; from == nil || from.Solve != "s0" || runs[0].State != solve.RunPassed || w.artifacts["s1/run-1.patch"] != "diff of run-1.patch" {
		t.Errorf("run 1: %+v, artifacts %v", runs[0], w.artifacts)
	}
	if len(runs) != 3 || runs[2].From == nil || !runs[2].Reproduces() || w.artifacts["s1/run-3.patch"] == "" {
		t.Errorf("the reproducer: %+v", runs)
	}
	if runs[1].From != nil || runs[1].State != "" || runs[1].Experiment.Model != "b" {
		t.Errorf("run 2: %+v", runs[1])
	}
}

// TestPickCopiesWhatIsStored: the results of tests, too, and a patch that was too large to be stored is missed by nobody.
func TestPickCopiesWhatIsStored(t *testing.T) {
	t.Parallel()
	w, s := newWorld(), request()
	s.Follows = &solve.Follow{Of: "s0", Kind: solve.FollowPick, N: 2}
	s.Plan.Experiments = []solve.Experiment{{Model: "a"}, {Model: "b"}}
	w.runs = []solve.Run{
		{Solve: "s0", N: 1, State: solve.RunFailed, Candidate: &solve.Candidate{Refused: "too large"}, Verdict: &solve.Verdict{Outcome: solve.Failed}},
		{
			Solve: "s0", N: 2, State: solve.RunPassed, Candidate: &solve.Candidate{Artifact: "run-2.patch"},
			Verdict: &solve.Verdict{Outcome: solve.Passed, Log: "run-2-tests.log", Results: "run-2-results.json"},
		},
	}
	for _, name := range []string{"run-2.patch", "run-2-results.json"} { // no log
		w.artifacts["s0/"+name] = name
	}
	runs, err := w.planner().Runs(t.Context(), s)
	if err != nil || len(runs) != 2 || runs[0].From == nil || w.artifacts["s1/run-2.patch"] == "" || w.artifacts["s1/run-2-results.json"] == "" {
		t.Errorf("%v, runs %+v, artifacts %v", err, runs, w.artifacts)
	}
}
