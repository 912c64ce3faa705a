package solve_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

// docs/lifecycle.md is made from the table and from the comments of state.go,
// so it cannot say anything else than the program does.
func TestLifecycleDocument(t *testing.T) {
	t.Parallel()
	meaning := comments(t, "state.go")
	var b strings.Builder
	b.WriteString("# Lifecycle\n\n[Solve](#solve) · [Run](#run)\n\n" +
		"`go test ./solve -update` writes this page from the transition table in `solve/state_machine.go` and the comments in\n" +
		"`solve/state.go`. Do not edit it by hand. An arrow is named after its event.\n\n" +
		"A state changes only by these steps: `solve.Apply` and what follows from it ask the table. The store keeps\n" +
		"the new state with its event, and no other code changes it.\n")
	chapter(&b, "Solve", solve.States(), solve.SolveSteps(), meaning, "State")
	chapter(&b, "Run", solve.RunStates(), solve.RunSteps(), meaning, "RunState")
	golden(t, "../docs/lifecycle.md", b.String())
}

func chapter[S ~string](b *strings.Builder, title string, states []S, steps []solve.Step[S], meaning map[string]string, kind string) {
	fmt.Fprintf(b, "\n## %s\n\n```mermaid\nstateDiagram-v2\n    [*] --> %s\n", title, states[0])
	labels, order := map[[2]S][]string{}, [][2]S{}
	leaves := map[S]bool{}
	for _, s := range steps {
		pair := [2]S{s.From, s.To}
		if labels[pair] == nil {
			order = append(order, pair)
		}
		labels[pair] = append(labels[pair], string(s.On))
		leaves[s.From] = true
	}
	for _, pair := range order {
		fmt.Fprintf(b, "    %s --> %s: %s\n", pair[0], pair[1], strings.Join(labels[pair], ", "))
	}
	for _, s := range states {
		if !leaves[s] {
			fmt.Fprintf(b, "    %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n\n| State | Meaning |\n| --- | --- |\n")
	for _, s := range states {
		fmt.Fprintf(b, "| `%s` | %s |\n", s, meaning[kind+" "+string(s)])
	}
}

// comments reads the comment of each constant: "State queued" to its text.
func comments(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, d := range f.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			v := spec.(*ast.ValueSpec)
			value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if v.Doc == nil {
				continue
			}
			_, text, _ := strings.Cut(strings.Join(strings.Fields(v.Doc.Text()), " "), ": ")
			out[v.Type.(*ast.Ident).Name+" "+value] = text
		}
	}
	for _, s := range solve.States() {
		if out["State "+string(s)] == "" {
			t.Errorf("%s has no comment", s)
		}
	}
	for _, s := range solve.RunStates() {
		if out["RunState "+string(s)] == "" {
			t.Errorf("%s has no comment", s)
		}
	}
	return out
}
