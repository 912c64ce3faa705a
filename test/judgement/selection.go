package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// published is the half of the selection set that is public: 146 issues of six repositories, derived from the
// submissions to SWE-PolyBench (amazon-science/SWE-PolyBench, MIT licence, Amazon Science).
//
//go:embed testdata/selection-polybench.jsonl
var published embed.FS

const publishedName = "testdata/selection-polybench.jsonl"

// issue is one line of a selection set: an issue of a benchmark with the patches of several systems.
type issue struct {
	Issue      string  `json:"issue"`
	Repository string  `json:"repository"`
	Candidates []entry `json:"candidates"`
}

// entry is the patch of one system.
type entry struct {
	System string `json:"system"`
	Model  string `json:"model"`
	// Kept: no test that passed before fails. It is all that a regression run sees.
	Kept bool `json:"kept"`
	// Fixed and Resolved are what only the hidden tests see: the truth, which no rule may look at.
	Fixed    bool         `json:"fixed"`
	Resolved bool         `json:"resolved"`
	Files    []fileChange `json:"files"`
}

// fileChange is a file of a patch. The lines are digests of the changed lines without white space.
type fileChange struct {
	Path         string   `json:"path"`
	Test         bool     `json:"test"`
	Added        int      `json:"added"`
	Deleted      int      `json:"deleted"`
	AddedLines   []string `json:"added_lines"`
	DeletedLines []string `json:"deleted_lines"`
}

// readSelection reads a set, one issue a line.
func readSelection(data []byte) ([]issue, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var out []issue
	for {
		var is issue
		err := dec.Decode(&is)
		switch {
		case errors.Is(err, io.EOF) && len(out) > 0:
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("read the selection set, issue %d: %w", len(out)+1, err)
		case len(is.Candidates) == 0:
			return nil, fmt.Errorf("read the selection set, issue %d: %s has no candidates", len(out)+1, is.Issue)
		}
		out = append(out, is)
	}
}

// runs are the candidates as the reducer gets them: each system is a model of its own, and
// nothing of the truth is in them. Run n is candidate n-1.
func (is issue) runs() []solve.Run {
	var out []solve.Run
	for i, e := range is.Candidates {
		r := solve.Run{
			N: i + 1, State: solve.RunPassed, Experiment: solve.Experiment{Model: e.System},
			Verdict: &solve.Verdict{Outcome: solve.Passed}, Candidate: &solve.Candidate{Lines: e.lines()},
		}
		if !e.Kept {
			r.State, r.Verdict.Outcome, r.Verdict.Broken = solve.RunFailed, solve.Failed, 1
		}
		for _, f := range e.Files {
			r.Candidate.Files = append(r.Candidate.Files, solve.FileChange{
				Path: f.Path, Op: "modify", Added: f.Added, Deleted: f.Deleted, Test: f.Test,
			})
			r.Candidate.Added += f.Added
			r.Candidate.Deleted += f.Deleted
		}
		out = append(out, r)
	}
	return out
}

// lines are the changed lines outside tests as [solve.Candidate.Lines] has them.
func (e entry) lines() []string {
	var out []string
	for _, f := range e.Files {
		if f.Test {
			continue
		}
		for _, l := range f.AddedLines {
			out = append(out, "+"+l)
		}
		for _, l := range f.DeletedLines {
			out = append(out, "-"+l)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(a[1:]+a[:1], b[1:]+b[:1]) })
	out = slices.Compact(out)
	return out[:min(len(out), solve.MaxLines)]
}

// record is how often each model's candidates were right among those that kept the tests.
type record map[string]tally

// tally counts right ones among those tried.
type tally struct{ Right, Tried int }

// percent is how many in a hundred are right, with one right and one wrong before the first.
func (t tally) percent() int { return 100 * (t.Right + 1) / (t.Tried + 2) }

// learn is the record of the models in all repositories but one.
func learn(issues []issue, without string) record {
	out := record{}
	for _, is := range issues {
		for _, e := range is.Candidates {
			if is.Repository == without || !e.Kept {
				continue
			}
			t := out[e.System]
			t.Tried++
			if e.Resolved {
				t.Right++
			}
			out[e.System] = t
		}
	}
	return out
}
