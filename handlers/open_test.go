package handlers_test

import (
	"testing"

	"github.com/palantir/go-githubapp/githubapp"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/solve"
)

// TestLabelsOfRepositories: a label with the prefix asks for a solve, and which profile
// it means is left to whoever reads the repository's file; taking it off stops that solve.
func TestLabelsOfRepositories(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"yudai:fast": "yudai:fast", "YUDAI:Fast": "YUDAI:Fast", "yudai:cheap": "cheap", "yudai:": "-", "yudaifast": "-", "bug": "-",
	} {
		i := &intake{handlers: map[string]githubapp.EventHandler{}}
		for _, h := range handlers.New(handlers.Options{
			Accepter: i, Bot: "yudai[bot]", Vocabulary: vocabulary(), LabelPrefix: "yudai:", Now: noon,
			Labels: map[string]string{"yudai:solve": "", "yudai:Cheap": "cheap"},
		}) {
			for _, event := range h.Handles() {
				i.handlers[event] = h
			}
		}
		for _, action := range []string{"labeled", "unlabeled"} {
			if err := i.handle("issues", labeled(t, map[string]any{"label.name": label, "action": action})); err != nil {
				t.Fatal(err)
			}
		}
		if want == "-" {
			if len(i.intents) > 0 {
				t.Errorf("%s: %+v", label, i.intents)
			}
			continue
		}
		if len(i.intents) != 2 || i.intents[0].Solve == nil || i.intents[0].Solve.Request.Profile != want ||
			i.intents[0].Solve.Trigger.Label != label || i.intents[1].Command == nil || i.intents[1].Command.Label != label {
			t.Errorf("%s: %+v", label, i.intents)
		}
	}
}

// TestOpenNames: where repositories may add strategies and profiles, only what cannot
// be a name is wrong; models and agents are the operator's alone.
func TestOpenNames(t *testing.T) {
	t.Parallel()
	v := vocabulary()
	v.Open = true
	for key, r := range map[string]solve.Request{
		"":           {Strategies: []string{"theirs"}, Profile: "theirs"},
		"strategies": {Strategies: []string{"a\u200bb"}},
		"profile":    {Profile: " x"},
		"models":     {Models: []string{"theirs"}},
		"agents":     {Agents: []string{"theirs"}},
	} {
		got := ""
		v.Check(r, func(p handlers.Problem) { got += p.Key })
		if got != key {
			t.Errorf("%+v: the problem is %q, want %q", r, got, key)
		}
	}
}
