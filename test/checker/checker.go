// Package checker judges from outside what yudai did: it reads the history that
// the GitHub emulator wrote, the store that was left, and this machine, and
// counts what was lost, doubled, leaked and paid twice. Nothing of it comes from
// the memory of the program it judges, so that a program that is wrong about
// itself is found out.
package checker

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// Evidence is what is left when everything has stopped.
type Evidence struct {
	// History is the emulator's history file, JSON lines of githubsim.Record.
	History string
	// Store is the path of the closed store.
	Store string
	// Sandboxes is sandbox.local.dir; "" looks for none.
	Sandboxes string
	// Calls is a file with one JSON line per model call, see [Call]; "" if none were recorded.
	Calls string
	// Crashes is how often the process was killed or stalled past its lease.
	Crashes int
}

// Report counts what went wrong, one sentence each.
type Report struct {
	Lost    []string
	Doubled []string
	Leaked  []string
	Paid    []string
}

// OK says that nothing went wrong.
func (r Report) OK() bool {
	return len(r.Lost)+len(r.Doubled)+len(r.Leaked)+len(r.Paid) == 0
}

// String is the counts, and below them every sentence.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d lost, %d doubled, %d leaked, %d paid twice", len(r.Lost), len(r.Doubled), len(r.Leaked), len(r.Paid))
	for _, list := range [][]string{r.Lost, r.Doubled, r.Leaked, r.Paid} {
		for _, sentence := range list {
			b.WriteString("\n- " + sentence)
		}
	}
	return b.String()
}

// findings collects the sentences of one kind.
type findings []string

func (f *findings) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// Check judges the evidence. An error says that it could not be read; it is no verdict.
func Check(ctx context.Context, e Evidence) (Report, error) {
	github, err := readHistory(e.History)
	if err != nil {
		return Report{}, err
	}
	left, err := readStore(ctx, e.Store, github.acknowledged)
	if err != nil {
		return Report{}, err
	}
	calls, err := readCalls(e.Calls)
	if err != nil {
		return Report{}, err
	}
	leaked, err := Left(e.Sandboxes)
	if err != nil {
		return Report{}, err
	}
	return Report{
		Lost:    lost(github, left),
		Doubled: doubled(github, left),
		Leaked:  append(orphanBranches(github, left), leaked...),
		Paid:    paid(left, calls, e.Crashes),
	}, nil
}

// final is what the store says in the end.
type final struct {
	solves  []solve.Solve
	runs    map[solve.ID][]solve.Run
	events  map[solve.ID][]solve.Entry
	effects []solve.Effect
	asks    []solve.Command
	stored  map[string]bool // GUIDs of the given deliveries that are stored
}

func readStore(ctx context.Context, path string, triggers []trigger) (_ final, err error) {
	s, err := bolt.Inspect(path)
	if err != nil {
		return final{}, err
	}
	defer func() {
		if shut := s.Close(); err == nil {
			err = shut
		}
	}()
	f := final{runs: map[solve.ID][]solve.Run{}, events: map[solve.ID][]solve.Entry{}, stored: map[string]bool{}}
	if f.solves, err = s.Solves(ctx, "", math.MaxInt); err != nil {
		return final{}, err
	}
	if f.effects, err = s.Effects(ctx); err != nil {
		return final{}, err
	}
	if f.asks, err = s.Commands(ctx); err != nil {
		return final{}, err
	}
	for _, one := range f.solves {
		if f.runs[one.ID], err = s.Runs(ctx, one.ID); err != nil {
			return final{}, err
		}
		if f.events[one.ID], err = s.Events(ctx, one.ID, 0); err != nil {
			return final{}, err
		}
	}
	for _, t := range triggers {
		_, err := s.Delivery(ctx, t.guid)
		f.stored[t.guid] = err == nil
	}
	return f, nil
}

// effect finds one by its key.
func (f final) effect(id solve.ID, kind solve.EffectKind) (solve.Effect, bool) {
	for _, e := range f.effects {
		if e.Key == string(id)+"/"+string(kind) {
			return e, true
		}
	}
	return solve.Effect{}, false
}
