// Package house measures the source tree: lines by room and kind, sizes of
// files and functions, long lines, and imports that run up.
package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	module = "github.com/yudai-dev/yudai"
	// maxColumns is the longest line that production should have.
	maxColumns = 140
)

// Size is something with a name and lines.
type Size struct {
	Name  string
	Lines int
}

// Tree is what was measured.
type Tree struct {
	// Rooms are lines by package and kind.
	Rooms map[string]*[kinds]int
	// Files, Functions and Long (lines beyond 140 columns) are production's.
	Files, Functions []Size
	Long             []string
	// Up are the imports of production that run up.
	Up []string
}

// Total is the lines of one kind in all rooms.
func (t *Tree) Total(k Kind) int {
	n := 0
	for _, room := range t.Rooms {
		n += room[k]
	}
	return n
}

// Measure reads the Go files below a directory.
func Measure(dir string) (*Tree, error) {
	t := &Tree{Rooms: map[string]*[kinds]int{}}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if hidden := strings.HasPrefix(d.Name(), ".") && name != dir; d.IsDir() && (hidden || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		return t.add(name, filepath.ToSlash(rel))
	})
	if err != nil {
		return nil, fmt.Errorf("measure %s: %w", dir, err)
	}
	return t, nil
}

func (t *Tree) add(name, rel string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, data, parser.ParseComments)
	if err != nil {
		return err
	}
	room := filepath.ToSlash(filepath.Dir(rel))
	kind := kindOf(room, filepath.Base(rel), f)
	if t.Rooms[room] == nil {
		t.Rooms[room] = &[kinds]int{}
	}
	lines := strings.Count(string(data), "\n")
	t.Rooms[room][kind] += lines
	if kind != Production {
		return nil
	}
	t.Files = append(t.Files, Size{rel, lines})
	t.addFunctions(fset, rel, f)
	t.addImports(room, rel, f)
	n := 0
	for line := range strings.Lines(string(data)) {
		if n++; utf8.RuneCountInString(strings.TrimRight(line, "\n")) > maxColumns {
			t.Long = append(t.Long, fmt.Sprintf("%s:%d", rel, n))
		}
	}
	return nil
}

func (t *Tree) addFunctions(fset *token.FileSet, rel string, f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
			t.Functions = append(t.Functions, Size{rel + " " + fn.Name.Name, lines})
		}
	}
}

func (t *Tree) addImports(room, rel string, f *ast.File) {
	for _, i := range f.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if to, ours := strings.CutPrefix(imported, module+"/"); err == nil && ours && runsUp(room, to) {
			t.Up = append(t.Up, rel+" imports "+to)
		}
	}
}
