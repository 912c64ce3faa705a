package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// issue is the tables of targets as they were asked for, in two issues: what, against, target.
const issue = `
native loop, per step|a bare ` + "`Exec`" + ` of the same command|at most 1.2
16 sandboxes from a prepared base of 5,000 files|16 fresh clones with checkout|at least 10 times faster
12 scripted experiments, label to pull request|the physical work (clone, forks, commands, tests) spread over the cores|at most 1.5
the same|clone, install and base tests repeated in every run|at least 5 times faster
deliveries stored before the answer, 64 senders|one commit each|at least 15 times more a second
1,000 running and 10,000 queued runs (fake sandbox)|100 and 1,000|cost per run grows at most 1.3 times; memory of the process under 200 MB
idle ` + "`serve`" + `|-|under 40 MB
16 sandboxes from one prepared base, the preparing included, per driver|16 prepared one by one|faster
round trip of an ` + "`Exec`" + `, per driver|the raw ` + "`docker exec`" + `, the raw HTTP call (25 ms away)|at most 1.2
100 MB of output, 50 MB up and down, per driver|-|memory grows by less than 20 MB
a call, and 200 open streams, through the gateway|the same upstream without it|under 2 ms more at the median; under 1 MB for a stream
start with 100,000 finished solves in the store|an empty store|under 1 s more
`

// TestEveryRowIsMeasured: the program has every row of the issue, in its words.
func TestEveryRowIsMeasured(t *testing.T) {
	t.Parallel()
	var have []string
	for _, r := range rows() {
		have = append(have, strings.Join([]string{r.what, r.against, r.target}, "|"))
		if r.measure == nil {
			t.Errorf("row %s measures nothing", r.key)
		}
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(issue), "\n"), have); diff != "" {
		t.Errorf("the rows differ from the issue's (-issue +program):\n%s", diff)
	}
}

// TestPageHoldsTheTable: docs/evidence/benchmarks.md has the markers, a line of each row
// between them, and an explanation of each below.
func TestPageHoldsTheTable(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), pageBegin)
	table, below, ended := strings.Cut(rest, pageEnd)
	if !found || !ended {
		t.Fatalf("%s has no markers", page)
	}
	for _, r := range rows() {
		if want := "| `" + r.key + "` | " + r.what + " |"; !strings.Contains(table, want) {
			t.Errorf("no line in the table: %s", want)
		}
		if !strings.Contains(below, "\n### `"+r.key+"`") {
			t.Errorf("row %s is not explained below the table", r.key)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	got, err := choose("idle, step")
	if err != nil || len(got) != 2 || got[0].key != "idle" || got[1].key != "step" {
		t.Errorf("chosen %v, %v", got, err)
	}
	if _, err := choose("step,speed"); err == nil || !strings.Contains(err.Error(), "speed") {
		t.Errorf("a row that is not there: %v", err)
	}
	if all, err := choose(""); err != nil || len(all) != len(rows()) {
		t.Errorf("%d rows, %v", len(all), err)
	}
}

// TestPairsTakeTurns: the order of two measurements changes, so that neither is always first.
func TestPairsTakeTurns(t *testing.T) {
	t.Parallel()
	var order []string
	note := func(name string, v float64) func() (float64, error) {
		return func() (float64, error) {
			order = append(order, name)
			return v, nil
		}
	}
	as, bs, err := pairs(t.Context(), 3, note("a", 6), note("b", 2))
	if err != nil || !slices.Equal(order, []string{"a", "b", "b", "a", "a", "b"}) {
		t.Errorf("order %v, %v", order, err)
	}
	if got := ratios(as, bs); !slices.Equal(got, []float64{3, 3, 3}) {
		t.Errorf("ratios %v", got)
	}
	broken := errors.New("broken")
	if _, _, err := pairs(t.Context(), 3, note("a", 1), func() (float64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("a measurement that fails gives %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := pairs(gone, 3, note("a", 1), note("b", 1)); err == nil {
		t.Error("it goes on after the end")
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	list := rows()
	text := table{rows: list[:2], results: []result{
		{checks: []check{{values: []float64{1.3, 1.1, 1.15}, unit: " times", bound: 1.2}}, facts: []string{"one", "two"}},
		{checks: []check{{values: []float64{9, 5}, unit: " times faster", bound: 10, least: true}, {values: []float64{123}, unit: " MB", bound: 200}}},
	}}.String()
	for _, want := range []string{
		"| at most 1.2 | 1.15 times (1.10 to 1.30) | yes |",
		"| at least 10 times faster | 7.00 times faster (5.00 to 9.00); 123 MB | **no** |",
		"- `step`: one; two.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func TestUpdatePage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("above\n"+pageBegin+"\nold\n"+pageEnd+"\nbelow\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := updatePage(path, "new\n"); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if want := "above\n" + pageBegin + "\nnew\n" + pageEnd + "\nbelow\n"; err != nil || string(data) != want {
			t.Errorf("the page is %q, %v", data, err)
		}
	}
	if err := os.WriteFile(path, []byte("no markers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := updatePage(path, "new"); err == nil {
		t.Error("a page without markers was written")
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-only", "speed"}, {"-speed"}, {"-child", "{"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}

// TestSample: the models of the twelve experiments have plays, with commands.
func TestSample(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	s, err := loadSample()
	if err != nil {
		t.Fatal(err)
	}
	if experiments%len(sampleModels()) != 0 {
		t.Errorf("%d experiments are not the same number of each model", experiments)
	}
	for _, m := range sampleModels() {
		if c, err := s.commands(m); err != nil || len(c) == 0 {
			t.Errorf("%s has %d commands, %v", m, len(c), err)
		}
	}
}

// TestSmallCrowd plays the crowd's process with few runs: what it measures works.
func TestSmallCrowd(t *testing.T) {
	t.Parallel()
	size := crowdSize{Dir: t.TempDir(), Running: 8, Queued: 20, Counted: 16}
	cost, err := newCrowd(size).play(t.Context())
	if err != nil || cost.Running < size.Running || cost.CPU <= 0 || cost.Memory <= 0 {
		t.Errorf("%+v, %v", cost, err)
	}
}
