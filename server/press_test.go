package server_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

// TestPressed: a button is read by the grammar of comments, with its limits and no way round them.
func TestPressed(t *testing.T) {
	t.Parallel()
	on := solve.Solve{ID: "dc1toehksdufan2mcf90", Repo: solve.Repo{Installation: 3, ID: 4, Owner: "acme", Name: "semver"}}
	for _, c := range []struct {
		kind     solve.CommandKind
		argument string
		n        int
		text     string
		problem  string
	}{
		{solve.CommandCancel, "", 0, "", ""},
		{solve.CommandRetry, "", 0, "", ""},
		{solve.CommandPick, "2", 2, "", ""},
		{solve.CommandPick, "", 0, "", "needs the number of a run"},
		{solve.CommandPick, "x", 0, "", "is not the number of a run"},
		{solve.CommandRevise, "  keep the name\r\nand the order ", 0, "keep the name\nand the order", ""},
		{solve.CommandRevise, " ", 0, "", "needs to know what to change"},
		{solve.CommandRevise, "help", 0, "", "does not say what to revise"},
		{solve.CommandRevise, "fine\n/yudai cancel", 0, "", "holds 2 commands"},
		{solve.CommandRevise, strings.Repeat("x", 70_000), 0, "", "the limit is"},
	} {
		got, problem := server.Pressed(on, solve.Person{ID: 7, Login: "maya"}, c.kind, c.argument)
		if c.problem != "" {
			if !strings.Contains(problem, c.problem) || strings.Contains(problem, "`") {
				t.Errorf("%s %.20q: %q", c.kind, c.argument, problem)
			}
			continue
		}
		if problem != "" || got.Kind != c.kind || got.N != c.n || got.Text != c.text || got.Solve != on.ID || got.Repo != on.Repo ||
			got.Actor != "maya" || !got.Button || got.Stranger {
			t.Errorf("%s %q: %q %+v", c.kind, c.argument, problem, got)
		}
	}
}
