package handlers_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/solve"
)

// FuzzCommand: whatever the bytes, parsing does not panic, what it accepts is in
// range, and what it answers is no command itself. An accepted request written
// down again reads as the same request.
func FuzzCommand(f *testing.F) {
	for _, seed := range []string{
		"/yudai", "/yudai solve models=gpt-5-mini temps=0,0.5 budget=$5,20m base=main", "/yudai slove `@x`",
		"```\n/yudai\n```\n/yudai solve models=“my model”", "<!-- \n/yudai cancel --> a <!--\n/yudai status", "> x\n/yudai solve repeat=\\\"",
		"- ~~~\n/yudai\n~~~\n\x00/yudai \xff solve edits=1, 2", "/yudai solve =", "/yudai \"",
		"/yudai pick 3", "/yudai pick x", "/yudai retry", "/yudai why?", "/yudai revise a\n```\nb\n```\n> c\n<!-- d", "/yudai solve profile=cheap",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		v := vocabulary()
		cmd, ok := handlers.ParseComment(body, v)
		if !ok || cmd.Problem != "" {
			if cmd.Problem != "" && strings.ContainsAny(cmd.Problem, "\r\n") {
				t.Errorf("problem has several lines: %q", cmd.Problem)
			}
			return
		}
		v.Check(cmd.Request, func(p handlers.Problem) { t.Errorf("accepted %+v: %s", cmd.Request, p.Markdown()) })
		if (cmd.Kind == solve.CommandPick) != (cmd.N > 0) || (cmd.Kind == solve.CommandRevise) != (cmd.Text != "") || len(cmd.Text) > 4<<10 {
			t.Errorf("verb and argument do not fit: %+v", cmd)
		}
		if cmd.Kind != handlers.CommandSolve {
			return
		}
		again, _ := handlers.ParseComment(format(cmd.Request), v)
		if diff := cmp.Diff(cmd, again); diff != "" {
			t.Errorf("%q reads differently: %s", format(cmd.Request), diff)
		}
	})
}

func TestFormattedRequestReadsTheSame(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[a-z“"\\ =/]{0,6}[a-z]`).Filter(func(s string) bool { return strings.TrimSpace(s) == s })
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(name, 1, 4, rapid.ID).Draw(t, "words")
		v := handlers.Vocabulary{Models: words, Strategies: words, Agents: words, Profiles: words}
		some := rapid.SliceOfDistinct(rapid.SampledFrom(words), rapid.ID)
		want := solve.Request{
			Models: some.Draw(t, "models"), Strategies: some.Draw(t, "strategies"), Agents: some.Draw(t, "agents"),
			Temps:      rapid.SliceOfNDistinct(rapid.Custom(temperature), 0, 5, rapid.ID).Draw(t, "temps"),
			Edits:      rapid.SliceOfNDistinct(rapid.IntRange(0, solve.MaxEdits), 0, 5, rapid.ID).Draw(t, "edits"),
			Repeat:     rapid.IntRange(0, solve.MaxRepeat).Draw(t, "repeat"),
			Parallel:   rapid.IntRange(0, solve.MaxParallel).Draw(t, "parallel"),
			Budget:     solve.Money(rapid.Int64Range(0, int64(solve.MaxBudget)).Draw(t, "budget")),
			TimeBudget: time.Duration(rapid.Int64Range(60, 86400).Draw(t, "time")) * time.Second,
			Profile:    rapid.SampledFrom(append([]string{""}, words...)).Draw(t, "profile"),
			Base:       rapid.StringMatching(`[a-z,"=]{0,8}(/[a-z]+)?`).Filter(func(s string) bool { return !strings.HasPrefix(s, "/") }).Draw(t, "base"),
		}
		got, _ := handlers.ParseComment(format(want), v)
		if diff := cmp.Diff(handlers.ParsedCommand{Kind: handlers.CommandSolve, Request: normal(want)}, got); diff != "" {
			t.Errorf("%s: %s", format(want), diff)
		}
	})
}

func temperature(t *rapid.T) float64 {
	return float64(rapid.IntRange(0, 200).Draw(t, "hundredths")) / 100
}

// normal has nil where a list is empty, as parsing does.
func normal(r solve.Request) solve.Request {
	for _, list := range []*[]string{&r.Models, &r.Strategies, &r.Agents} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	if len(r.Temps) == 0 {
		r.Temps = nil
	}
	if len(r.Edits) == 0 {
		r.Edits = nil
	}
	return r
}

// format writes a request as a person would type it.
func format(r solve.Request) string {
	var args []string
	list := func(key string, words []string) {
		if len(words) > 0 {
			args = append(args, key+"="+quote(strings.Join(words, ",")))
		}
	}
	numbers := func(key string, n int) {
		if n != 0 {
			args = append(args, fmt.Sprintf("%s=%d", key, n))
		}
	}
	var temps, edits, budget []string
	for _, t := range r.Temps {
		temps = append(temps, strconv.FormatFloat(t, 'f', -1, 64))
	}
	for _, n := range r.Edits {
		edits = append(edits, strconv.Itoa(n))
	}
	if r.Budget != 0 {
		budget = append(budget, fmt.Sprintf("$%d.%06d", r.Budget/1e6, r.Budget%1e6))
	}
	if r.TimeBudget != 0 {
		budget = append(budget, r.TimeBudget.String())
	}
	list("models", r.Models)
	list("temps", temps)
	list("edits", edits)
	list("strategies", r.Strategies)
	list("agents", r.Agents)
	numbers("repeat", r.Repeat)
	numbers("parallel", r.Parallel)
	list("budget", budget)
	if r.Base != "" {
		args = append(args, "base="+quote(r.Base))
	}
	if r.Profile != "" {
		args = append(args, "profile="+quote(r.Profile))
	}
	return "/yudai solve " + strings.Join(args, " ")
}

func quote(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		if strings.ContainsRune(`"\“”„‟″`, r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	out.WriteByte('"')
	return out.String()
}
