package scripted_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/model/scripted"
)

func TestLoadErrorsHavePositions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ yaml, want string }{
		"unknown key":      {"plays:\n  - steps:\n      - run: ls\n        rnu: x\n", "line 4, column 9: unknown field"},
		"unknown match":    {"plays:\n  - match: {modell: x}\n    steps:\n      - run: ls\n", `line 2, column 13: unknown field "modell"`},
		"bad type":         {"plays:\n  - match: {repeat: often}\n    steps: [{run: ls}]\n", "line 2, column 21"},
		"bad syntax":       {"plays: [\n", "line 1"},
		"bad duration":     {"plays:\n  - steps:\n      - run: ls\n        delay: soon\n", "soon"},
		"no plays":         {"price: {input: 1}\n", "plays is missing or empty"},
		"empty file":       {"", "plays is missing or empty"},
		"no steps":         {"plays:\n  - match: {model: a}\n", "line 2, column 5: plays[0]: steps is missing or empty"},
		"run and runs":     {"plays:\n  - steps:\n      - run: a\n      - run: a\n        runs: [b]\n", "line 4, column 9: plays[0].steps[1]: needs exactly one of"},
		"nothing to do":    {"plays:\n  - steps:\n      - say: hello\n", "line 3, column 9: plays[0].steps[0]: needs exactly one of"},
		"say and raw":      {"plays:\n  - steps:\n      - say: a\n        raw: {content: b}\n", "both say and raw"},
		"error, no status": {"plays:\n  - steps:\n      - error: {text: b}\n", "error.status is missing"},
		"error and usage":  {"plays:\n  - steps:\n      - error: {status: Timeout}\n        usage: {input: 1}\n", "goes with nothing but delay"},
		"negative delay":   {"plays:\n  - steps:\n      - run: a\n        delay: -1s\n", "delay must not be negative"},
		"bad usage":        {"plays:\n  - steps:\n      - run: a\n        usage: {input: 1, cached: 2}\n", "cached more than input"},
		"negative price":   {"price: {input: -1}\nplays:\n  - steps: [{run: a}]\n", "line 1, column 16: price.input: must be a price"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted.Load([]byte(c.yaml))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want %q", err, c.want)
			}
		})
	}
}

func TestLoadReportsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := scripted.Load([]byte("plays:\n  - steps:\n      - say: a\n      - say: b\n"))
	if err == nil || !strings.Contains(err.Error(), "steps[0]") || !strings.Contains(err.Error(), "steps[1]") {
		t.Error(err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("plays:\n  - steps:\n      - run: |\n          a\n          b\n"))
	f.Add([]byte("plays: [{steps: [{raw: {tool_calls: [{name: x}]}}]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scripted.Load(data)
		if (s == nil) == (err == nil) {
			t.Errorf("script %v, err %v", s, err)
		}
	})
}
