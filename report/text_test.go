package report_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

func checkText(c report.Check) string {
	return fmt.Sprintf("name: %s\nstatus: %s\nconclusion: %s\ntitle: %s\n\n%s\n---- text\n%s", c.Name, c.Status, c.Conclusion, c.Title, c.Summary, c.Text)
}

// texts are all texts of a view, by name.
func texts(v report.View) map[string]string {
	out := map[string]string{
		"progress": report.ProgressComment(v), "final": report.FinalComment(v), "check": checkText(report.CheckOf(v)),
		"pull": report.PullTitle(v) + "\n\n" + report.PullBody(v), "status": report.StatusText(v), "running": report.RunningText(v),
		"commit": report.CommitMessage(v), "terminal": report.Console(v, 120),
	}
	for n := range 5 {
		out[fmt.Sprintf("run-%d", n+1)] = checkText(report.RunCheckOf(v, n+1))
	}
	return out
}

func TestTextsAreGolden(t *testing.T) {
	t.Parallel()
	for state, names := range map[solve.State]string{
		solve.StateQueued:    "progress check status run-1",
		solve.StateRunning:   "progress check status running run-3 run-4 run-5",
		solve.StateSolved:    "progress final check pull status commit terminal run-1 run-2 run-3 run-5",
		solve.StateUnsolved:  "final check terminal",
		solve.StateCancelled: "progress final check",
		solve.StateFailed:    "progress final check terminal run-1",
	} {
		all := texts(sample(state))
		for _, name := range strings.Fields(names) {
			golden(t, fmt.Sprintf("testdata/text/%s-%s.md", state, name), all[name])
		}
	}
	for state, names := range map[solve.State]string{
		solve.StateRunning: "progress",
		solve.StateSolved:  "progress final check status terminal run-4 run-5",
	} {
		all := texts(waves(state))
		for _, name := range strings.Fields(names) {
			golden(t, fmt.Sprintf("testdata/text/waves-%s-%s.md", state, name), all[name])
		}
	}
	golden(t, "testdata/text/help.md", report.HelpText())
}

// TestNotesOfTheBaseAreTold: what was not installed or not tested as the repository says stands in all texts about the result.
func TestNotesOfTheBaseAreTold(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateSolved)
	v.Solve.Base.Notes = []string{"uv.lock was not obeyed"}
	all := texts(v)
	for _, name := range []string{"progress", "check", "pull", "terminal"} {
		if !strings.Contains(all[name], "Note: uv.lock was not obeyed.") {
			t.Errorf("%s does not tell it: %s", name, all[name])
		}
	}
}

// hostile puts text that means harm into every field that others can write.
func hostile(v report.View) report.View {
	const evil = "@octocat fixes #99 GH-98 octo/shop#97 https://evil.example/x www.evil.example <!-- yudai solve=x kind=comment --> " +
		"<script>x</script> <img src=x> ![i](http://evil.example) [l](http://evil.example) | a | \\` `@octocat` ```\n/yudai cancel\n\x1b[31m# big\n---\n\u202ereversed\u200b"
	v.Solve.Issue.Title, v.Solve.Reason, v.Solve.CancelBy, v.Solve.Trigger.Actor = evil, evil, evil, evil
	v.Solve.Base.Branch, v.Solve.Base.Test.Command, v.Solve.Branch = evil, evil, evil
	v.Solve.Plan.Notes, v.Solve.Base.Notes = []string{evil}, []string{evil}
	for i := range v.Runs {
		r := &v.Runs[i]
		r.Reason, r.Exit, r.Experiment.Model, r.Experiment.Strategy, r.Experiment.Agent, r.Summary = evil, evil, evil, evil, evil, evil
		r.Progress.Last, r.Progress.Waiting = evil, evil
		if r.Verdict != nil {
			verdict := *r.Verdict
			verdict.Reason, verdict.Flaky, verdict.FlakyTests = evil, 3, []string{evil, "x|y"}
			for _, names := range []*[]string{&verdict.FixedTests, &verdict.BrokenTests, &verdict.StillTests, &verdict.Weakens} {
				if *names != nil {
					*names = []string{evil, "`", "``@octocat", "x|y"}
				}
			}
			r.Verdict = &verdict
		}
		if r.Candidate != nil {
			c := *r.Candidate
			c.Flags, c.Files = []string{evil}, []solve.FileChange{{Path: evil, OldPath: "@octocat`", Op: evil}}
			if i == 0 {
				c.Refused = evil
			}
			r.Candidate = &c
		}
	}
	if v.Solve.Decision != nil {
		d := solve.Reduce(v.Runs, solve.Rule{})
		d.Rule = append(d.Rule, evil)
		for i := range d.Comparisons {
			d.Comparisons[i].Left, d.Comparisons[i].Text, d.Comparisons[i].Criterion = evil, evil, evil
		}
		v.Solve.Decision = &d
	}
	return v
}

// Whatever others write, our texts call nobody, link nowhere, close nothing and
// carry no command, no markup and no marker but their own.
func TestHostileTextIsHarmless(t *testing.T) {
	t.Parallel()
	for _, state := range []solve.State{
		solve.StateQueued, solve.StateRunning, solve.StatePublishing, solve.StateSolved, solve.StateUnsolved, solve.StateCancelled, solve.StateFailed,
	} {
		for where, text := range hostileTexts(state) {
			_, name, _ := strings.Cut(where, " by ")
			_, name, _ = strings.Cut(name, " ")
			if strings.Contains("\n"+text, "\n/yudai") {
				t.Errorf("%s: a line begins with a command", where)
			}
			if strings.ContainsAny(text, "\x1b\u202e") {
				t.Errorf("%s: a control character is left", where)
			}
			switch name {
			case "commit":
				plainHarmless(t, where, strings.Replace(text, "For #12.", "", 1))
			case "terminal":
			case "pull":
				title, body, _ := strings.Cut(text, "\n\n")
				plainHarmless(t, where+" title", title)
				markdownHarmless(t, where, body, "#12")
			default:
				_, body, found := strings.Cut(text, "\n\n")
				if !found || !strings.HasPrefix(text, "name: ") {
					body = text
				} else {
					plainHarmless(t, where+" title", text[:len(text)-len(body)])
				}
				markdownHarmless(t, where, body, "#34")
			}
		}
	}
}

// hostileTexts are all texts of a solve in a state, by each kind of trigger.
func hostileTexts(state solve.State) map[string]string {
	out := map[string]string{}
	for _, kind := range []solve.TriggerKind{solve.TriggerLabel, solve.TriggerCommand, solve.TriggerAPI} {
		v := hostile(sample(state))
		v.Solve.Trigger.Kind = kind
		for name, text := range texts(v) {
			out[fmt.Sprintf("%s by %s %s", state, kind, name)] = text
		}
	}
	return out
}

func plainHarmless(t *testing.T, where, text string) {
	t.Helper()
	if m := regexp.MustCompile(`@\w|#\d|://|(?i)gh-\d`).FindString(text); m != "" {
		t.Errorf("%s: %q in\n%s", where, m, text)
	}
}

// markdownHarmless renders the text as GitHub does and looks at what is outside
// of code, where alone GitHub acts on text.
func markdownHarmless(t *testing.T, where, text, allowed string) {
	t.Helper()
	html := render(t, text)
	outside := regexp.MustCompile(`(?s)<code.*?</code>|<pre.*?</pre>`).ReplaceAllString(html, "")
	if marker := "<!-- yudai solve=d1a2b3c4d5e6f7g8h9i0 "; strings.Count(outside, "<!--") != strings.Count(outside, marker) {
		t.Errorf("%s: a comment that is not our marker in\n%s", where, outside)
	}
	outside = strings.ReplaceAll(outside, allowed, "")
	if m := regexp.MustCompile(`(?i)@\w|#\d|gh-\d|<a |<img|<script|https?://|www\.\w`).FindString(outside); m != "" {
		t.Errorf("%s: %q in\n%s", where, m, outside)
	}
	for _, tag := range regexp.MustCompile(`<[a-z][a-z0-9]*`).FindAllString(outside, -1) {
		switch tag[1:] {
		case "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li", "strong", "em", "h3", "details", "summary", "hr", "blockquote":
		default:
			t.Errorf("%s: foreign element %s in\n%s", where, tag, outside)
		}
	}
	if strings.Contains(outside, "<hr") {
		t.Errorf("%s: a rule in\n%s", where, outside)
	}
}

// The tables keep their shape, whatever stands in their cells.
func TestHostileTextKeepsTables(t *testing.T) {
	t.Parallel()
	v := hostile(sample(solve.StateSolved))
	html := render(t, report.StatusText(v))
	if rows, cells := strings.Count(html, "<tr>"), strings.Count(html, "<td"); rows != 6 || cells != 5*12 {
		t.Errorf("%d rows, %d cells in\n%s", rows, cells, html)
	}
}

func TestTextsKeepGitHubsLimits(t *testing.T) {
	t.Parallel()
	v := hostile(sample(solve.StateSolved))
	for i := range v.Runs {
		if v.Runs[i].Candidate == nil {
			continue
		}
		c := *v.Runs[i].Candidate
		for range 500 {
			c.Flags = append(c.Flags, strings.Repeat("ü@", 2000))
		}
		v.Runs[i].Candidate = &c
	}
	for len(v.Runs) < 900 {
		r := v.Runs[0]
		r.N = len(v.Runs) + 1
		v.Runs = append(v.Runs, r)
	}
	d := solve.Reduce(v.Runs, solve.Rule{})
	v.Solve.Decision = &d
	c, r := report.CheckOf(v), report.RunCheckOf(v, 2)
	for name, s := range map[string]struct {
		text  string
		limit int
	}{
		"progress": {report.ProgressComment(v), 60_000}, "final": {report.FinalComment(v), 60_000}, "body": {report.PullBody(v), 60_000},
		"status": {report.StatusText(v), 60_000}, "title": {report.PullTitle(v), 250}, "summary": {c.Summary, 65_535}, "text": {c.Text, 65_535},
		"run summary": {r.Summary, 65_535}, "run text": {r.Text, 65_535}, "run name": {r.Name, 250}, "run title": {r.Title, 250},
	} {
		if len(s.text) > s.limit || s.text == "" || !utf8.ValidString(s.text) {
			t.Errorf("%s has %d bytes, limit %d", name, len(s.text), s.limit)
		}
	}
}

func TestConclusionsNeverColourACommitRed(t *testing.T) {
	t.Parallel()
	for _, s := range solve.States() {
		c := report.CheckOf(report.View{Solve: solve.Solve{State: s}})
		conclusions(t, string(s), c, s.Final(), map[bool]string{true: "success", false: "neutral"}[s == solve.StateSolved])
	}
	for _, s := range solve.RunStates() {
		c := report.RunCheckOf(report.View{Runs: []solve.Run{{N: 1, State: s}}}, 1)
		conclusions(t, string(s), c, s.Final(), map[bool]string{true: "success", false: "neutral"}[s == solve.RunPassed])
	}
}

func conclusions(t *testing.T, state string, c report.Check, final bool, want string) {
	t.Helper()
	if state == "cancelled" {
		want = "cancelled"
	}
	if !final {
		want = ""
	}
	if c.Conclusion != want || (c.Status == "completed") != final {
		t.Errorf("%s: %s %s", state, c.Status, c.Conclusion)
	}
}

func TestRunCheckNames(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateRunning)
	for n, want := range map[int]string{
		1: "yudai / 1: small t=0.2 plain", 3: "yudai / 3: fixed e=10 test-first", 4: "yudai / 4: large t=0.2 plain again 2", 9: "yudai / 9:",
	} {
		if got := report.RunCheckOf(v, n).Name; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	planned := v
	planned.Runs = nil
	if got := report.RunCheckOf(planned, 1); got.Name != "yudai / 1: small t=0.2 plain" || got.Status != "queued" {
		t.Errorf("a planned run: %+v", got)
	}
}

func TestFixesOnlyOnTheDefaultBranch(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateSolved)
	if body := report.PullBody(v); !strings.Contains(body, "\nFixes #12: ") {
		t.Error(body)
	}
	v.Solve.Base.Branch = "release"
	if body := report.PullBody(v); !strings.Contains(body, "\nFor #12: ") || strings.Contains(body, "Fixes") {
		t.Error(body)
	}
	v.Solve.Base.Branch, v.Solve.Repo.DefaultBranch = "", ""
	if body := report.PullBody(v); !strings.Contains(body, "\nFor #12: ") {
		t.Error("unknown branches are not the default branch")
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Total is wrong":                   "fix: Total is wrong",
		"Bug: total":                       "fix: total",
		"[bug] total":                      "fix: total",
		"fix(cart)!: total":                "fix: total",
		"[Feature request]: coupons":       "feat: coupons",
		"enhancement(cart): coupons":       "feat: coupons",
		"Docs: coupons":                    "docs: coupons",
		"docs - coupons":                   "docs: coupons",
		"Bug- total":                       "fix: total",
		"[bug]- total":                     "fix: total",
		"Feature-flag X is ignored":        "fix: Feature-flag X is ignored",
		"Doc-comment is lost":              "fix: Doc-comment is lost",
		"Docs -v is missing":               "fix: Docs -v is missing",
		"Add coupons":                      "feat: Add coupons",
		"Add is wrong":                     "fix: Add is wrong",
		"Address is lost":                  "fix: Address is lost",
		"Fix the total":                    "fix: Fix the total",
		"fixes #12 and @octocat's GH-3":    "fix: fixes 12 and octocat's GH 3",
		"see https://github.com/o/r/pull/": "fix: see github.com/o/r/pull/",
		"":                                 "fix: issue 7",
		"/yudai cancel":                    "fix: yudai cancel",
		strings.Repeat("word ", 30):        "fix: word word word word word word word word word word word…",
		strings.Repeat("ü", 100):           "fix: " + strings.Repeat("ü", 59) + "…",
		"a\nb\tc\u200b\x00d":               "fix: a b c d",
	} {
		v := report.View{Solve: solve.Solve{Issue: solve.Issue{Number: 7, Title: title}}}
		if got := report.PullTitle(v); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
		if first, _, _ := strings.Cut(report.CommitMessage(v), "\n"); first != want {
			t.Errorf("commit of %q: %q", title, first)
		}
	}
}

func TestCommitNamesOnlyAPerson(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateSolved)
	if m := report.CommitMessage(v); !strings.Contains(m, "\nRequested-by: octocat\n") {
		t.Error(m)
	}
	v.Solve.Trigger.Kind = solve.TriggerAPI
	if m := report.CommitMessage(v); strings.Contains(m, "Requested-by") {
		t.Error(m)
	}
}

func TestLocalSolvesNameNoNumber(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateSolved)
	v.Solve.Trigger.Kind = solve.TriggerLocal
	if m := report.CommitMessage(v); strings.Contains(m, "#") || strings.Contains(m, "Requested-by") {
		t.Error(m)
	}
	if text := report.Console(v, 80); strings.Contains(text, "pull request") {
		t.Error(text)
	}
}

func TestRefusedText(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"octocat", "read", `octocat has the permission "read" here; solving an issue needs "write" or more.`},
		{"octo_cat", "none", "octo_cat has no access to this repository; solving"},
		{"@x](y)", "", "xy has no access"},
	} {
		if got := report.RefusedText(c[0], c[1]); !strings.HasPrefix(got, c[2]) {
			t.Errorf("%q", got)
		}
	}
}

func TestRefusalText(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"no rights, @octocat":  "no rights, @\u200boctocat",
		"two problems:\na\n#1": "two problems:\n\n- a\n- \\#\u200b1",
		"a\nb":                 "- a\n- b",
	} {
		if got := report.RefusalText(report.View{Solve: solve.Solve{Reason: reason}}); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

func TestTextsCarryTheirMarker(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"comment": report.ProgressComment(sample(solve.StateRunning)), "result": report.FinalComment(sample(solve.StateSolved)),
		"pull": report.PullBody(sample(solve.StateSolved)),
	} {
		if id, kind, ok := solve.FindMarker(text); !ok || id != "d1a2b3c4d5e6f7g8h9i0" || kind != name {
			t.Errorf("%s: %q %q %v", name, id, kind, ok)
		}
	}
}

func TestTerminalKeepsTheWidth(t *testing.T) {
	t.Parallel()
	for _, width := range []int{20, 60, 80, 200} {
		for line := range strings.Lines(report.Console(sample(solve.StateSolved), width)) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("width %d: %d in %q", width, n, line)
			}
		}
	}
}

// TestEstimatedCallsAreTold: a cost that is partly an estimate says so.
func TestEstimatedCallsAreTold(t *testing.T) {
	t.Parallel()
	v := sample(solve.StateSolved)
	champion := v.Solve.Decision.Champion
	for n, want := range map[int]string{0: "", 1: ", 1 call estimated", 2: ", 2 calls estimated"} {
		var sum solve.Usage
		for range n {
			sum.Add(solve.Usage{Estimated: 1})
		}
		v.Runs[champion-1].Progress.Usage.Estimated = sum.Estimated
		for name, text := range map[string]string{"check run": report.RunCheckOf(v, champion).Summary, "scorecard": report.PullBody(v)} {
			if got := strings.Contains(text, "estimated"); got != (n > 0) || !strings.Contains(text, want) {
				t.Errorf("the %s after %d estimates:\n%s", name, n, text)
			}
		}
	}
}
