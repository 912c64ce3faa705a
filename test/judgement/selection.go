package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
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

// learn is the track record of all other repositories: each issue is a solve, and every candidate's truth is known.
// Candidates that break old tests are no trials here: a regression run sees that they are wrong.
func learn(issues []issue, now issue) []solve.TrackRecord {
	others := slices.DeleteFunc(slices.Clone(issues), func(is issue) bool { return is.Repository == now.Repository })
	return records(others, func(is issue) (out []solve.Trial) {
		for _, e := range is.Candidates {
			if !e.Kept {
				continue
			}
			t := solve.Trial{Arm: solve.Arm{Model: e.System}, Weight: 1}
			if e.Resolved {
				t.Right = 1
			}
			out = append(out, t)
		}
		return out
	})
}

// learnMerged is the track record as yudai learns it in the other repositories and from the earlier issues of this one:
// a maintainer merges a champion that is right and closes one that is wrong, and says nothing of the others.
func learnMerged(issues []issue, now issue) []solve.TrackRecord {
	first := slices.IndexFunc(issues, func(is issue) bool { return is.Issue == now.Issue })
	var known []issue
	for i, is := range issues {
		if i < first || is.Repository != now.Repository {
			known = append(known, is)
		}
	}
	return records(known, func(is issue) []solve.Trial {
		runs := is.runs()
		d := solve.Reduce(runs, solve.Rule{})
		pull := solve.PullClosed
		if d.Champion == 0 {
			pull = solve.PullOpen
		} else if is.Candidates[d.Champion-1].Resolved {
			pull = solve.PullMerged
		}
		return solve.Trials(solve.Solve{Decision: &d}, runs, solve.Fate{Pull: pull})
	})
}

// records counts the trials of the issues for their repositories.
func records(issues []issue, trials func(issue) []solve.Trial) (out []solve.TrackRecord) {
	for _, is := range issues {
		at := slices.IndexFunc(out, func(t solve.TrackRecord) bool { return t.Repo == is.repo() })
		if at < 0 {
			at = len(out)
			out = append(out, solve.TrackRecord{Repo: is.repo()})
		}
		out[at].Add(trials(is))
	}
	return out
}

// repo is the issue's repository, with a number made of its name.
func (is issue) repo() solve.Repo {
	return solve.Repo{ID: int64(crc32.ChecksumIEEE([]byte(is.Repository))), Name: is.Repository}
}
