package server

import (
	"fmt"
	"sort"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// ConfigProblem is one thing wrong in the configuration.
type ConfigProblem struct {
	// Source is the file, or the environment variable whose value is wrong.
	Source       string
	Line, Column int    // from 1; 0 if the key does not stand in the file
	Key          string // dotted path; "" if the file is not YAML
	Text         string
}

// String is "file:line:col: key: problem", as compilers write it.
func (p ConfigProblem) String() string {
	s := p.Source + ": "
	if p.Line > 0 {
		s = fmt.Sprintf("%s:%d:%d: ", p.Source, p.Line, p.Column)
	}
	if p.Key != "" {
		s += p.Key + ": "
	}
	return s + p.Text
}

// ConfigError holds everything that is wrong, in the order of the file.
type ConfigError struct{ Problems []ConfigProblem }

// Error has one line for each problem.
func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong and knows where each key stands.
type problems struct {
	file  string
	found []ConfigProblem
	at    map[string]place // by dotted path; list indexes are parts of it
}

// place is where a key's value comes from: a position in the file, or a variable.
type place struct {
	line, column int
	variable     string
}

func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{}
	}
	return place{line: t.Position.Line, column: t.Position.Column}
}

// add reports a problem at a place.
func (p *problems) add(at place, key, text string) {
	found := ConfigProblem{Source: p.file, Line: at.line, Column: at.column, Key: key, Text: text}
	if at.variable != "" {
		found.Source = at.variable
	}
	p.found = append(p.found, found)
}

// report places a problem that a Validate method found: at the key, else at its
// nearest parent in the file. A key whose value could not be read is not reported again.
func (p *problems) report(key, text string) {
	path := dotted(key)
	for _, known := range p.found {
		if known.Key == path || strings.HasPrefix(path, known.Key+".") {
			return
		}
	}
	parent := path
	for parent != "" && !p.has(parent) {
		parent = up(parent)
	}
	if parent == "" || parent != path && !inList(parent) {
		text += " (the file does not set it: this is its built-in value)"
	}
	p.add(p.at[parent], path, text)
}

func (p *problems) has(path string) bool {
	_, ok := p.at[path]
	return ok
}

// err is nil if nothing was found.
func (p *problems) err() error {
	if len(p.found) == 0 {
		return nil
	}
	sort.SliceStable(p.found, func(i, j int) bool {
		a, b := p.found[i], p.found[j]
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		if a.Column != b.Column {
			return a.Column < b.Column
		}
		return a.Key < b.Key
	})
	return &ConfigError{Problems: p.found}
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
