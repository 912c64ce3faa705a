package repoconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
)

// operator allows what the built-in configuration does, and one host more.
func operator() repoconfig.Operator {
	return repoconfig.Operator{
		Rules: repoconfig.Rules{
			Settings: solve.Settings{
				Test: solve.TestCommand{Source: "config"}, Hosts: []string{"mirror.example.com"}, InstallTime: time.Minute, Tries: 2,
				Patch: solve.PatchRules{MaxFiles: 100},
			},
			Limits: solve.Limits{
				RunTime: 20 * time.Minute, RunSteps: 80, RunMoney: 2e6, SolveTime: time.Hour, SolveMoney: 10e6, Parallel: 4,
			},
			MaxExperiments: 24,
			Strategies:     map[string]string{"plain": "", "test-first": "Write a test first."},
			Profiles:       map[string]repoconfig.Profile{"cheap": {Label: "yudai:cheap", Models: []string{"small"}}},
		},
		Commands: true, Texts: true, Hosts: []string{"pypi.org", "*.example.com"},
		Models: []string{"small", "large"}, Agents: []string{"mini"}, Label: "yudai:solve",
	}
}

func read(t *testing.T, text string, op repoconfig.Operator) (repoconfig.Rules, string) {
	t.Helper()
	rules, problems := repoconfig.Read(solve.RepoConfigFile, []byte(text), op)
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return rules, strings.Join(lines, "\n")
}

func TestAWholeFileNarrowsTheOperator(t *testing.T) {
	t.Parallel()
	op := operator()
	got, problems := read(t, `# our settings
test:
  command: |
    make deps
    make check
  format: junit
  report: build/*.xml
install:
  command: make vendor
network: [pypi.org, cdn.example.com]
strategies:
  plain: Follow STYLE.md.
  careful: Read the documentation first.
profiles:
  quick: {models: [small], strategies: [careful], solve_time: 10m, solve_usd: 1.5, parallel: 2}
  cheap: {label: "yudai:cheap", models: [large]}
protected: [docs/, "*.lock", /Makefile]
limits: {run_time: 5m, run_steps: 20, run_usd: 0.5, solve_time: 30m, solve_usd: 4, parallel: 2, max_experiments: 6, solves_per_day: 5, usd_per_day: 20}
`, op)
	if problems != "" {
		t.Fatal(problems)
	}
	want := repoconfig.Rules{
		Settings: solve.Settings{
			File: ".github/yudai.yml",
			Test: solve.TestCommand{
				Command: "make deps\nmake check\n", Format: "junit", Report: "build/*.xml", Source: ".github/yudai.yml",
			},
			Install: "make vendor", Hosts: []string{"pypi.org", "cdn.example.com"}, OnlyHosts: true, InstallTime: time.Minute, Tries: 2,
			Patch: solve.PatchRules{MaxFiles: 100, Protected: []string{"docs/", "*.lock", "/Makefile"}},
			Day:   solve.DayLimit{Solves: 5, Money: 20e6, From: ".github/yudai.yml"},
		},
		Limits: solve.Limits{
			RunTime: 5 * time.Minute, RunSteps: 20, RunMoney: 500_000, SolveTime: 30 * time.Minute, SolveMoney: 4e6, Parallel: 2,
		},
		MaxExperiments: 6,
		Strategies: map[string]string{
			"plain": "Follow STYLE.md.", "test-first": "Write a test first.", "careful": "Read the documentation first.",
		},
		Profiles: map[string]repoconfig.Profile{
			"cheap": {Label: "yudai:cheap", Models: []string{"large"}},
			"quick": {
				Label: "yudai:quick", Models: []string{"small"}, Strategies: []string{"careful"},
				SolveTime: 10 * time.Minute, SolveUSD: 1.5, Parallel: 2,
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(operator(), op); diff != "" {
		t.Errorf("the operator's own rules changed: %s", diff)
	}
}

func TestAnEmptyFileChangesNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing yet\n", "limits:\n", "test: {}\nnetwork:\n", "---\n"} {
		got, problems := read(t, text, operator())
		want := operator().Rules
		want.Settings.File = ".github/yudai.yml"
		if diff := cmp.Diff(want, got); diff != "" || problems != "" {
			t.Errorf("%q: %s%s", text, problems, diff)
		}
	}
}

// TestProfileWithinWhatACommandMayAsk: where the operator sets no limit, a profile has those of a command.
func TestProfileWithinWhatACommandMayAsk(t *testing.T) {
	t.Parallel()
	free := operator()
	free.Limits = solve.Limits{}
	for values, want := range map[string]string{
		"solve_usd: 1000, solve_time: 24h": "",
		"solve_time: 1m":                   "",
		"solve_usd: 1000.01":               "profiles.x.solve_usd: must be 0 to 1000 US dollars; 0 is the limit of every solve",
		"solve_time: 24h1s":                "profiles.x.solve_time: must be 1m to 24h",
		"solve_time: 59s":                  "profiles.x.solve_time: must be 1m to 24h",
	} {
		_, got := read(t, "profiles: {x: {"+values+"}}", free)
		if _, problem, _ := strings.Cut(got, " "); problem != want {
			t.Errorf("%s: %q, want %q", values, problem, want)
		}
	}
}

// TestReproduceRunsNoMoreThanTheOperatorWants.
func TestReproduceRunsNoMoreThanTheOperatorWants(t *testing.T) {
	t.Parallel()
	op := operator()
	op.Settings.Reproduce = solve.ReproduceAuto
	for value, want := range map[string]string{
		"off": "", "auto": "",
		"always":  "is always, but the operator chose auto, which runs less: leave it out",
		"allways": `unknown value "allways": did you mean "always"?`,
	} {
		rules, got := read(t, "reproduce: "+value, op)
		if !strings.HasSuffix(got, want) || (got == "") != (want == "") || want == "" && string(rules.Settings.Reproduce) != value {
			t.Errorf("%s: %q, %q", value, rules.Settings.Reproduce, got)
		}
	}
}

func TestEveryProblemIsToldAtOnce(t *testing.T) {
	t.Parallel()
	_, got := read(t, `tests:
  command: make
test:
  format: junt
  report: ../x
network: [pypi.orgg, "https://x", "*.com"]
strategies:
  "a,b": x
  plain: 7
profiles:
  big: {models: [larg], temps: [3], edits: [-1], strategies: [plan], agents: [max], repeat: 21, parallel: 9, solve_usd: 99, solve_time: 2h}
  none: {}
  odd: {label: bug, repeat: 2}
  own: {label: "yudai:cheap", repeat: 2}
protected: ["../x", "a[b", ""]
limits:
  run_time: 2h
  run_steps: 0
  run_usd: 100
  solve_time: 5
  solve_usd: -1
  parallel: 5
  max_experiments: 25
  solve_tim: 1h
`, operator())
	want := `1:1: tests: unknown key; did you mean test?
3:1: test: has format or report but no command: add test.command
4:11: test.format: is "junt", must be go, junit, jest, tap, cargo or exit; did you mean junit?
5:11: test.report: must be a path or glob inside the repository, like build/reports/*.xml
6:11: network.0: "pypi.orgg" is not allowed for repositories: remove it, or ask the operator (solver.repository.hosts); did you mean pypi.org?
6:22: network.1: "https://x" is not a host name like proxy.golang.org or *.example.org, without scheme, port and path
6:35: network.2: "*.com" is not allowed for repositories: remove it, or ask the operator (solver.repository.hosts)
8:10: strategies.a,b: the name "a,b" has a comma, a quote, or a character that cannot be seen; people could not write it in a command
9:10: strategies.plain: must be text: put it in quotes
11:18: profiles.big.models.0: "larg" is not a configured model here; did you mean large?
11:33: profiles.big.temps.0: is not a temperature: they go from 0 to 2
11:45: profiles.big.edits.0: must be 0 to 1000; 0 is no limit
11:63: profiles.big.strategies.0: "plan" is not a strategy here; did you mean plain?
11:79: profiles.big.agents.0: "max" is not a agent here
11:93: profiles.big.repeat: must be 1 to 20
11:107: profiles.big.parallel: is 9, but at most 4 are allowed
11:121: profiles.big.solve_usd: is $99.00, but at most $10.00 is allowed
11:137: profiles.big.solve_time: is 2h, but at most 1h is allowed
12:3: profiles.none: is empty, so it would change nothing: add models, temps, edits, strategies, agents, repeat, solve_usd, solve_time, parallel, sandbox or stop
13:16: profiles.odd.label: must begin with "yudai:" to have an effect
14:16: profiles.own.label: "yudai:cheap" is taken already: choose another
15:13: protected.0: "../x" has an empty, . or .. component; write it from the repository's root, like docs/** or *.lock
15:21: protected.1: "a[b" has a [ without its ], or a \ at the end
15:28: protected.2: "" is empty
17:13: limits.run_time: is 2h, but the operator allows at most 20m: lower it, or leave it out
18:14: limits.run_steps: must be more than 0; leave it out for the operator's limit
19:12: limits.run_usd: is $100.00, but the operator allows at most $2.00: lower it, or leave it out
20:15: limits.solve_time: must be a time with its unit, like 90s, 20m or 1h30m
21:14: limits.solve_usd: must be more than 0 and at most 1000000 US dollars
22:13: limits.parallel: is 5, but the operator allows at most 4: lower it, or leave it out
23:20: limits.max_experiments: is 25, but the operator allows at most 24: lower it, or leave it out
24:3: limits.solve_tim: unknown key; did you mean solve_time?`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestAWrongFileChangesNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"test: [":                      "1:7: not YAML",
		"limits: {run_steps: 5}\nx: 1": "2:1: x: unknown key",
		"a: &x 1\nb: *x":               "1:1: a: unknown key",
		"strategies: &s {a: b}":        "1:13: strategies: anchors, aliases and tags are not read here",
		"limits: {}\n---\nlimits: {}":  "a second document",
		"remote: other/repo":           "1:1: remote: unknown key",
		"- test":                       "1:1: must be keys and values",
		"network: none":                "1:10: network: must be a list, like [a, b]",
		"test: {command: \"\\x00\"}":   "1:17: test.command: holds the character U+0000",
		strings.Repeat("[", 60_000):    "1:101: more than 100 brackets are open here",
		strings.Repeat("#\n", 40_000):  "the file has more than 64 KiB",
	} {
		rules, problems := read(t, text, operator())
		if !strings.Contains(problems, want) {
			t.Errorf("%.40q: %s, want %s", text, problems, want)
		}
		if diff := cmp.Diff(operator().Rules, rules); diff != "" {
			t.Errorf("%.40q: %s", text, diff)
		}
	}
}

// FuzzRead: no bytes make it panic, and nothing that it accepts is wider than the operator's rules.
func FuzzRead(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.yml")
	if err != nil || len(seeds) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range seeds {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		op := operator()
		rules, problems := repoconfig.Read(solve.RepoConfigFile, data, op)
		if text := repoconfig.Explain(solve.RepoConfigFile, problems); len(problems) > 0 && len(strings.Split(text, "\n")) < 2 {
			t.Errorf("no problem is told: %q", text)
		}
		mayNotWiden(t, op, rules)
	})
}

// mayNotWiden compares every limit, and every host.
func mayNotWiden(t *testing.T, op repoconfig.Operator, got repoconfig.Rules) {
	t.Helper()
	a, b := got.Limits, op.Limits
	for name, within := range map[string]bool{
		"run_time": a.RunTime > 0 && a.RunTime <= b.RunTime, "run_steps": a.RunSteps > 0 && a.RunSteps <= b.RunSteps,
		"run_usd": a.RunMoney > 0 && a.RunMoney <= b.RunMoney, "solve_time": a.SolveTime > 0 && a.SolveTime <= b.SolveTime,
		"solve_usd": a.SolveMoney > 0 && a.SolveMoney <= b.SolveMoney, "parallel": a.Parallel > 0 && a.Parallel <= b.Parallel,
		"experiments": got.MaxExperiments > 0 && got.MaxExperiments <= op.MaxExperiments,
		"files":       got.Settings.Patch.MaxFiles == op.Settings.Patch.MaxFiles, "tries": got.Settings.Tries == op.Settings.Tries,
	} {
		if !within {
			t.Errorf("%s is wider than the operator's: %+v", name, got)
		}
	}
	for _, host := range got.Settings.Hosts {
		if host != "pypi.org" && !strings.HasSuffix(host, ".example.com") {
			t.Errorf("the host %q was opened", host)
		}
	}
	for name, p := range got.Profiles {
		if p.Parallel > b.Parallel || p.SolveTime > b.SolveTime || p.SolveUSD > 10 {
			t.Errorf("profile %s is wider than the operator's limits: %+v", name, p)
		}
	}
}

// TestSandboxIsChosenAmongThoseOffered: by the file, and by its profiles.
func TestSandboxIsChosenAmongThoseOffered(t *testing.T) {
	t.Parallel()
	op := operator()
	op.Sandboxes = []string{"local", "docker"}
	rules, problems := read(t, "sandbox: docker\nprofiles: {here: {sandbox: local}}\n", op)
	if problems != "" || rules.Sandbox != "docker" || rules.Profiles["here"].Sandbox != "local" {
		t.Errorf("%+v, %s", rules, problems)
	}
	if r := rules.Profiles["here"].Fill(solve.Request{}); r.Sandbox != "local" {
		t.Errorf("the profile fills in %q", r.Sandbox)
	}
	if r := rules.Profiles["here"].Fill(solve.Request{Sandbox: "docker"}); r.Sandbox != "docker" {
		t.Errorf("the profile replaces what was asked for by %q", r.Sandbox)
	}
	_, problems = read(t, "sandbox: dokcer\nprofiles:\n  there: {sandbox: e2b}\n", op)
	want := `1:10: sandbox: "dokcer" is not offered here: choose one of local, docker, or ask the operator (sandbox.choices); did you mean docker?
3:20: profiles.there.sandbox: "e2b" is not offered here: choose one of local, docker, or ask the operator (sandbox.choices)`
	if problems != want {
		t.Errorf("problems:\n%s\nwant:\n%s", problems, want)
	}
}

// TestStopIsChosenAndNeverWidens: by the file, and by its profiles.
func TestStopIsChosenAndNeverWidens(t *testing.T) {
	t.Parallel()
	op := operator()
	op.Stop, op.Waves = solve.StopAll, true
	rules, problems := read(t, "stop: first_green\nprofiles: {thrice: {repeat: 3, stop: waves}, whole: {stop: all}}\n", op)
	if problems != "" || rules.Stop != solve.StopFirstGreen {
		t.Errorf("%+v, %s", rules, problems)
	}
	if r := rules.Profiles["thrice"].Fill(solve.Request{}); r.Stop != solve.StopWaves || r.Repeat != 3 {
		t.Errorf("the profile fills in %+v", r)
	}
	if r := rules.Profiles["thrice"].Fill(solve.Request{Stop: solve.StopAll, Repeat: 1}); r.Stop != solve.StopAll || r.Repeat != 1 {
		t.Errorf("the profile replaces what was asked for: %+v", r)
	}
	if rules, _ := read(t, "test: {command: make}\n", op); rules.Stop != solve.StopAll {
		t.Errorf("without the key the rule is %q", rules.Stop)
	}

	op.Stop, op.Waves = solve.StopFirstGreen, false
	_, problems = read(t, `stop: waves
profiles:
  everything: {stop: all}
  cheap: {stop: waves}
  steps: {stop: waves, models: [small, large]}
  odd: {stop: first-green}
`, op)
	want := `1:7: stop: is waves, but none are configured: use first_green, or ask the operator (solver.waves)
3:22: profiles.everything.stop: is all, but the operator chose first_green, which runs less: leave it out, or use first_green or waves
4:17: profiles.cheap.stop: is waves, but none are configured: use first_green, or ask the operator (solver.waves)
6:15: profiles.odd.stop: "first-green" is no stop rule: it takes all, first_green or waves; did you mean first_green?`
	if problems != want {
		t.Errorf("problems:\n%s\nwant:\n%s", problems, want)
	}
}
