package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// table is what was measured.
type table struct {
	rows    []row
	results []result
}

// String is the table in Markdown, with the absolute figures behind it.
func (t table) String() string {
	var b strings.Builder
	b.WriteString("| Row | What | Against | Target | Figure | Met |\n|---|---|---|---|---|---|\n")
	for i, r := range t.rows {
		met := "yes"
		if slices.ContainsFunc(t.results[i].checks, func(c check) bool { return !c.met() }) {
			met = "**no**"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", r.key, r.what, r.against, r.target, figures(t.results[i]), met)
	}
	b.WriteString("\nA figure is the median; in parentheses the lowest and the highest of the repetitions.\n\n")
	for i, r := range t.rows {
		fmt.Fprintf(&b, "- `%s`: %s.\n", r.key, strings.Join(t.results[i].facts, "; "))
	}
	return b.String()
}

func figures(r result) string {
	var out []string
	for _, c := range r.checks {
		out = append(out, c.figure())
	}
	return strings.Join(out, "; ")
}

// spread is the lowest, the median and the highest value.
func spread(values []float64) (low, mid, high float64) {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return 0, 0, 0
	}
	mid = v[len(v)/2]
	if len(v)%2 == 0 {
		mid = (mid + v[len(v)/2-1]) / 2
	}
	return v[0], mid, v[len(v)-1]
}

func median(values []float64) float64 {
	_, mid, _ := spread(values)
	return mid
}

// number writes three digits that matter.
func number(v float64) string {
	switch a := max(v, -v); {
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// page holds the table, between two lines of its own.
const (
	page      = "docs/evidence/benchmarks.md"
	pageBegin = "<!-- table: written by make bench -->"
	pageEnd   = "<!-- end of table -->"
)

// updatePage puts the text between the page's markers.
func updatePage(path, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("update the page: %w", err)
	}
	before, rest, found := bytes.Cut(page, []byte(pageBegin))
	_, after, ended := bytes.Cut(rest, []byte(pageEnd))
	if !found || !ended {
		return errors.New("update the page: " + path + " has no markers " + pageBegin + " and " + pageEnd)
	}
	whole := fmt.Sprintf("%s%s\n%s\n%s%s", before, pageBegin, strings.TrimSpace(text), pageEnd, after)
	if err := os.WriteFile(path, []byte(whole), 0o644); err != nil { //nolint:gosec // a page for everybody
		return fmt.Errorf("update the page: %w", err)
	}
	return nil
}
