// Package scripted is a model that plays a file. Tests, the demo and the
// benchmarks drive whole solves with it; it is a provider like any other.
//
// A script is YAML. It holds plays; the first play whose match fits the
// experiment is played, one step per call of the model. A step says something
// and runs one command or several, or fails on purpose: a malformed reply, a
// truncated one, an error of the provider.
//
//	price: {input: 1, output: 5}            # US dollars per million tokens
//	prices: {careful: {input: 3, output: 15}} # of single models
//	plays:
//	  - match: {model: careful, temperature: 0.2}
//	    steps:
//	      - say: I look at the code first.
//	        run: cat sum.go
//	      - say: I write the file.
//	        delay: 300ms
//	        run: |
//	          cat > sum.go <<'EOF'
//	          package sum
//	          EOF
//
// All keys of match are optional: model, agent, strategy, temperature,
// max_edits, repeat (each must be equal), task_contains (a part of the task
// message) and purpose (reproduce: only for the reproducer, who has no other play). After its last step a play submits, again and again.
//
// A step has exactly one of run, runs (several commands of one reply, tool-call
// mode only), raw (a reply as it is: content, tool_calls with name and
// arguments) and error (status, text: the call fails under that name). Beside
// it: say, delay, usage (input, cached, output tokens; estimated from the texts
// if left out) and finish_reason.
//
// The model keeps no state: which step comes next is the number of replies in
// the history. A conversation resumed after a crash goes on at the right step;
// the step whose commands the crash interrupted is played again, so commands that
// may meet a crash should bear being run twice.
package scripted

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// Script is a loaded file. It is never changed after [Load].
type Script struct {
	Price  agent.Price            `yaml:"price"`  // of every model without one of its own
	Prices map[string]agent.Price `yaml:"prices"` // by model name
	Plays  []Play                 `yaml:"plays"`
}

// Play is one conversation for the experiments that it matches.
type Play struct {
	Match Match  `yaml:"match"`
	Steps []Step `yaml:"steps"`
}

// Match says which experiments a play is for; what is left out fits all.
type Match struct {
	Model        string   `yaml:"model"`
	Agent        string   `yaml:"agent"`
	Strategy     *string  `yaml:"strategy"` // "" is an experiment without a strategy
	Temperature  *float64 `yaml:"temperature"`
	MaxEdits     *int     `yaml:"max_edits"`
	Repeat       int      `yaml:"repeat"`
	TaskContains string   `yaml:"task_contains"`
	// Purpose is the experiment's; a play without one is for those that work on the issue.
	Purpose solve.Purpose `yaml:"purpose"`
}

// Step is one reply, or one failure.
type Step struct {
	Say          string        `yaml:"say"`
	Run          *string       `yaml:"run"`
	Runs         []string      `yaml:"runs"`
	Raw          *Raw          `yaml:"raw"`
	Error        *Failure      `yaml:"error"`
	Delay        time.Duration `yaml:"delay"`
	Usage        *Usage        `yaml:"usage"`
	FinishReason string        `yaml:"finish_reason"`
}

// Raw is a reply taken as it is, to play one that is not in the format.
type Raw struct {
	Content   string    `yaml:"content"`
	ToolCalls []RawCall `yaml:"tool_calls"`
}

// RawCall is one call of a Raw reply; the arguments are text and may be broken JSON.
type RawCall struct {
	ID        string `yaml:"id"`
	Name      string `yaml:"name"`
	Arguments string `yaml:"arguments"`
}

// Failure is an error of the provider, as package model names them
// (AuthenticationError, RateLimitError, ...).
type Failure struct {
	Status string `yaml:"status"`
	Text   string `yaml:"text"`
}

// Usage are the tokens of a call. Input counts the cached ones, too.
type Usage struct {
	Input  int64 `yaml:"input"`
	Cached int64 `yaml:"cached"`
	Output int64 `yaml:"output"`
}

// Load reads a script. Unknown keys and impossible steps are errors; all of the
// latter are reported at once, each with line and column.
func Load(data []byte) (*Script, error) {
	var s Script
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read script: %w", position(err))
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", position(err))
	}
	if problems := s.check(file); len(problems) > 0 {
		return nil, fmt.Errorf("read script: %w", errors.Join(problems...))
	}
	return &s, nil
}

// position puts line and column of a YAML error in front of its text.
func position(err error) error {
	var ye yaml.Error
	if !errors.As(err, &ye) || ye.GetToken() == nil {
		return err
	}
	p := ye.GetToken().Position
	return fmt.Errorf("line %d, column %d: %s", p.Line, p.Column, ye.GetMessage())
}

func (s *Script) check(file *ast.File) []error {
	var problems []error
	report := func(path, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s%s: %s", where(file, path), strings.TrimPrefix(path, "$."), fmt.Sprintf(format, args...)))
	}
	if len(s.Plays) == 0 {
		report("$", "plays is missing or empty")
	}
	s.Price.Validate("price", func(key, problem string) { report("$."+key, "%s", problem) })
	for name, p := range s.Prices {
		p.Validate("prices."+name, func(key, problem string) { report("$."+key, "%s", problem) })
	}
	for i, play := range s.Plays {
		path := fmt.Sprintf("$.plays[%d]", i)
		if len(play.Steps) == 0 {
			report(path, "steps is missing or empty")
		}
		for j, step := range play.Steps {
			if problem := step.problem(); problem != "" {
				report(fmt.Sprintf("%s.steps[%d]", path, j), "%s", problem)
			}
		}
	}
	return problems
}

// where is the position of a node, "" if it has none.
func where(file *ast.File, path string) string {
	p, err := yaml.PathString(path)
	if err != nil {
		return ""
	}
	node, err := p.FilterFile(file)
	if err != nil || node == nil || node.GetToken() == nil {
		return ""
	}
	at := start(node).GetToken().Position
	return fmt.Sprintf("line %d, column %d: ", at.Line, at.Column)
}

// start is the first node of a mapping: the mapping's own token is a colon.
func start(node ast.Node) ast.Node {
	switch n := node.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return n.Values[0].Key
		}
	case *ast.MappingValueNode:
		return n.Key
	}
	return node
}

func (s Step) problem() string {
	kinds := 0
	for _, set := range []bool{s.Run != nil, len(s.Runs) > 0, s.Raw != nil, s.Error != nil} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return "needs exactly one of run, runs, raw and error"
	case s.Raw != nil && s.Say != "":
		return "has both say and raw; write the text into raw.content"
	case s.Error != nil && s.Error.Status == "":
		return "error.status is missing"
	case s.Error != nil && (s.Say != "" || s.FinishReason != "" || s.Usage != nil):
		return "has an error, which goes with nothing but delay"
	case s.Delay < 0:
		return "delay must not be negative"
	case s.Usage != nil && (s.Usage.Input < 0 || s.Usage.Output < 0 || s.Usage.Cached < 0 || s.Usage.Cached > s.Usage.Input):
		return "usage must not be negative, nor cached more than input"
	}
	return ""
}
