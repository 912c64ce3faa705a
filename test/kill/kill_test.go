package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/failpoint"
)

func TestPointIsParsedAsPrinted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"label:store.accept.before=kill@1", "cancel+restart:sandbox.attach.after=stop@2", "comment:moment=kill@1234",
	} {
		p, err := parsePoint(text)
		if err != nil || p.String() != text {
			t.Errorf("%q became %q, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "label", "label:", "push:a=kill@1", "label+again:a=kill@1", "label:a=kill@0", "label:a=burn@1"} {
		if p, err := parsePoint(text); err == nil {
			t.Errorf("%q became %q", text, p)
		}
	}
}

func recordings() []recording {
	return []recording{
		{scene: sceneLabel, hits: map[string]int{"a": 1, "b": 9, "c": 3}, took: 3 * time.Second},
		{scene: sceneLabel, restart: true, hits: map[string]int{"b": 2, "d": 1}, took: 3 * time.Second},
		{scene: sceneCancel, hits: map[string]int{"a": 2, "e": 40}, took: 2 * time.Second},
	}
}

func TestSampleIsTheSameForASeed(t *testing.T) {
	t.Parallel()
	first := sample(recordings(), 200, 7)
	for range 5 {
		again := recordings()
		slices.Reverse(again)
		if diff := cmp.Diff(texts(first), texts(sample(again, 200, 7))); diff != "" {
			t.Fatal(diff)
		}
	}
	if cmp.Equal(texts(first), texts(sample(recordings(), 200, 8))) {
		t.Error("another seed draws the same points")
	}
	p := first[0]
	if p.dice(7).Uint64() != p.dice(7).Uint64() || p.dice(7).Uint64() == p.dice(8).Uint64() {
		t.Error("a point's own dice do not follow the seed")
	}
}

// TestSampleTakesEveryNameFirst: no name twice before each had its turn, and every
// point is one that the recordings have.
func TestSampleTakesEveryNameFirst(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range sample(recordings(), 5, 3) {
		seen[p.spec.Name] = true
	}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
		t.Errorf("the first five points are of %v", got)
	}
	actions := map[failpoint.Action]int{}
	for _, p := range sample(recordings(), 500, 3) {
		actions[p.spec.Action]++
		seen[p.spec.Name] = true
		if p.spec.Name == moment {
			if p.spec.Nth < 1 || p.spec.Nth > 3000 {
				t.Errorf("%s is no moment of a recording", p)
			}
			continue
		}
		if !slices.ContainsFunc(recordings(), func(r recording) bool {
			return r.scene == p.scene && r.restart == p.restart && p.spec.Nth >= 1 && p.spec.Nth <= r.hits[p.spec.Name]
		}) {
			t.Errorf("%s was never recorded", p)
		}
	}
	if !seen[moment] || actions[failpoint.Kill] < actions[failpoint.Stop] || actions[failpoint.Stop] == 0 || actions[failpoint.Stall] == 0 {
		t.Errorf("actions %v, moments %t", actions, seen[moment])
	}
}

func texts(points []point) []string {
	var out []string
	for _, p := range points {
		out = append(out, p.String())
	}
	return out
}

// TestProviderAnswersByWhatItIsAsked: the same question gets the same answer, and
// every question is kept.
func TestProviderAnswersByWhatItIsAsked(t *testing.T) {
	t.Parallel()
	p := &provider{}
	ask := func(model string, assistants int, last string) (int, string) {
		messages := []map[string]string{{"role": "system"}, {"role": "user"}}
		for range assistants {
			messages = append(messages, map[string]string{"role": "assistant"}, map[string]string{"role": "tool", "content": "done"})
		}
		messages[len(messages)-1]["content"] = last
		body, err := json.Marshal(map[string]any{"model": model, "messages": messages, "tools": []any{map[string]any{
			"function": map[string]any{"name": "bash", "parameters": map[string]any{"required": []string{"command"}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(body)))
		var got struct {
			Choices []struct {
				Message struct {
					ToolCalls []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if w.Code != http.StatusOK {
			return w.Code, ""
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		return w.Code, got.Choices[0].Message.ToolCalls[0].Function.Arguments
	}
	for _, model := range models() {
		for n, command := range plays()[model] {
			for range 2 {
				var args struct{ Command string }
				code, text := ask(model, n, "done")
				if err := json.Unmarshal([]byte(text), &args); err != nil || code != http.StatusOK || args.Command != command {
					t.Errorf("answer %d of %s: %d %s, want %s", n, model, code, text, command)
				}
			}
		}
		if _, text := ask(model, 1, "<exception>"+agent.InterruptedText+"</exception>"); !strings.Contains(text, "sed") && !strings.Contains(text, "cat") {
			t.Errorf("after an interrupted command: %s, want the command again", text)
		}
		if code, _ := ask(model, 9, "done"); code != http.StatusBadRequest {
			t.Errorf("a question without answer: %d", code)
		}
	}
	lines, err := p.lines("s")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(lines), `"run":"s/1","step":2,`); n != 2 || strings.Count(string(lines), "\n") != p.asked() {
		t.Errorf("%d calls of the first step, want 2, in\n%s", n, lines)
	}
}

func TestEveryMutationHasATrap(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../internal/failpoint/failpoint.go")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^\t\w+ Mutation = "(.+)"$`).FindAllSubmatch(source, -1)
	if len(all) == 0 {
		t.Fatal("no mutation found")
	}
	for _, found := range all {
		m := failpoint.Mutation(found[1])
		if trap := traps()[m]; len(trap.points) == 0 || trap.proof == "" {
			t.Errorf("%s has none", m)
		}
		for _, text := range traps()[m].points {
			if _, err := parsePoint(text); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-n", "0"}, {"-j", "0"}, {"more"}, {"-mutation", "none", "-binary", "/bin/true"}, {"-only", "x", "-binary", "/bin/true"}} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 2 || errs.Len() == 0 || out.Len() != 0 {
			t.Errorf("kill %v: code %d, said %q and %q", args, code, out.String(), errs.String())
		}
	}
}
