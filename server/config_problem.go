package server

import (
	"fmt"
	"strings"

	"github.com/yudai-dev/yudai/internal/strictyaml"
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

// configError is nil if nothing was found in the file.
func configError(file string, found []strictyaml.Problem) error {
	if len(found) == 0 {
		return nil
	}
	all := make([]ConfigProblem, len(found))
	for i, p := range found {
		all[i] = ConfigProblem{Source: file, Line: p.Line, Column: p.Column, Key: p.Key, Text: p.Text}
		if p.Variable != "" {
			all[i].Source = p.Variable
		}
	}
	return &ConfigError{Problems: all}
}
