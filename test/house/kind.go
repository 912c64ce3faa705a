package house

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// Kind of a source file.
type Kind int

// The kinds of files, in the order of the columns.
const (
	// Production is written by hand and linked into the binary.
	Production Kind = iota
	// Support is never linked into the binary (stubs, suites, campaigns), or
	// emulates a remote service.
	Support
	// Test is what `go test` alone compiles.
	Test
	// Generated is written by a program, and says so in its header.
	Generated
	kinds
)

// supportRooms hold no production, with all below them.
func supportRooms() []string {
	return []string{"test", "store/memory", "internal/githubsim", "model/fakeprovider"}
}

func kindOf(room, name string, f *ast.File) Kind {
	switch {
	case ast.IsGenerated(f):
		return Generated
	case strings.HasSuffix(name, "_test.go"):
		return Test
	case isSupport(room):
		return Support
	default:
		return Production
	}
}

// isSupport also knows conformance suites: their names end in "test".
func isSupport(room string) bool {
	return strings.HasSuffix(path.Base(room), "test") ||
		slices.ContainsFunc(supportRooms(), func(s string) bool { return within(room, s) })
}

// within says whether a room is another or lies below it.
func within(room, other string) bool { return room == other || strings.HasPrefix(room, other+"/") }

// layers are the rooms from the top down; a room that is not named belongs to the layer of
// the one it lies in. Production may import its own layer and what lies further down.
func layers() []string {
	return []string{
		".", "cmd", "server", "setup", "web", "reconcile", "handlers",
		"solver", "solver/commands", "solver/plan", "solver/attempt", "solver/prepare", "solver/budget", "solver/rights", "solver/sandboxes", "solver/fault",
		"solver/judge", "solver/tree",
		"repoconfig", "ghapp", "git", "store", "model", "agent/presets", "agent/miniswe", "agent/command", "agent",
		"sandbox/drivers", "sandbox/local", "sandbox/docker", "sandbox/e2b", "sandbox/prime", "sandbox/cloud", "sandbox",
		"report", "patch", "bundle", "solve", "internal",
	}
}

// layerOf is the place of a room's layer, the top being 0.
func layerOf(room string) int {
	for ; ; room = path.Dir(room) {
		if i := slices.Index(layers(), room); i >= 0 {
			return i
		}
	}
}

// runsUp says whether an import from one room to another runs up.
func runsUp(from, to string) bool {
	return within(to, "test") || layerOf(to) < layerOf(from)
}
