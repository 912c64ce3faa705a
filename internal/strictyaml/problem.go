package strictyaml

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// Problem is one thing wrong in a file.
type Problem struct {
	Place

	Key  string // dotted path; "" if the file is not YAML
	Text string
}

// String is "line:column: key: text".
func (p Problem) String() string { return p.at("") }

// In is the problem as compilers write it: "file:line:column: key: text". Of a value from
// the environment it names the variable instead.
func (p Problem) In(file string) string { return p.at(file + ":") }

func (p Problem) at(file string) string {
	text := p.Text
	if p.Key != "" {
		text = p.Key + ": " + text
	}
	switch {
	case p.Variable != "":
		return p.Variable + ": " + text
	case p.Line > 0:
		return fmt.Sprintf("%s%d:%d: %s", file, p.Line, p.Column, text)
	case file != "":
		return file + " " + text
	}
	return text
}

// Error holds everything that is wrong with a file, in its order.
type Error struct {
	File     string
	Problems []Problem
}

// Error has one line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.In(e.File)
	}
	return strings.Join(lines, "\n")
}

// Place is where a value comes from: a position in the file, or a variable of the
// environment that stands above it.
type Place struct {
	Line, Column int // from 1; 0 if the key does not stand in the file
	Variable     string
}

func placeOf(t *token.Token) Place {
	if t == nil || t.Position == nil {
		return Place{}
	}
	return Place{Line: t.Position.Line, Column: t.Position.Column}
}

// Problems collects what is wrong with a file and knows where each of its keys stands.
type Problems struct {
	found []Problem
	at    map[string]Place // by dotted path; list indexes are parts of it
}

// Add reports a problem at a place.
func (p *Problems) Add(at Place, key, text string) {
	p.found = append(p.found, Problem{Place: at, Key: key, Text: text})
}

// Override says that a key's value comes from a variable of the environment.
func (p *Problems) Override(key, variable string) { p.at[key] = Place{Variable: variable} }

// Report places a problem with a value, by its dotted key: there, else at its
// nearest parent in the file. A key whose value could not be read is not reported again.
func (p *Problems) Report(key, text string) {
	path := dotted(key)
	for _, known := range p.found {
		if known.Key == path || strings.HasPrefix(path, known.Key+".") {
			return
		}
	}
	parent := path
	for parent != "" && !p.Has(parent) {
		parent = up(parent)
	}
	if parent == "" || parent != path && !inList(parent) {
		text += " (the file does not set it: this is its built-in value)"
	}
	p.Add(p.at[parent], path, text)
}

// Retire accepts a key that earlier versions read: it is no problem any more. It returns the
// text as a notice with the key's place, or nothing if the file does not have the key.
func (p *Problems) Retire(key, text string) []Problem {
	if !p.Has(key) {
		return nil
	}
	p.found = slices.DeleteFunc(p.found, func(one Problem) bool { return one.Key == key })
	return []Problem{{Place: p.at[key], Key: key, Text: text}}
}

// Has says whether the file, or a variable of the environment, sets the key.
func (p *Problems) Has(path string) bool {
	_, ok := p.at[path]
	return ok
}

// Places are where a key's value comes from: its own place, and the variables that set parts of it. The file or the
// environment does not set a key without any.
func (p *Problems) Places(key string) (all []Place) {
	for _, path := range slices.Sorted(maps.Keys(p.at)) {
		at := p.at[path]
		if path == key || strings.HasPrefix(path, key+".") && at.Variable != "" && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}

// Sorted returns what was found in the order of the file.
func (p *Problems) Sorted() []Problem {
	slices.SortStableFunc(p.found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Key, b.Key))
	})
	return p.found
}

// Err is an [*Error] with what was found in the file of that name, nil if that is nothing.
func (p *Problems) Err(file string) error {
	if len(p.found) == 0 {
		return nil
	}
	return &Error{file, p.Sorted()}
}

// dotted writes "a[2].b" as "a.2.b".
func dotted(key string) string {
	return strings.NewReplacer("[", ".", "]", "").Replace(key)
}

func up(key string) string {
	i := strings.LastIndexByte(key, '.')
	return key[:max(i, 0)]
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// inList says whether a dotted path leads through an element of a list.
func inList(path string) bool {
	for part := range strings.SplitSeq(path, ".") {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			return true
		}
	}
	return false
}
