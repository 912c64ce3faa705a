package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Markers of the generated part of the page.
const (
	pageBegin = "<!-- begin: make projects -->\n"
	pageEnd   = "<!-- end: make projects -->\n"
)

// render writes the rows as a table.
func render(rows []row) string {
	var b strings.Builder
	b.WriteString("| Project | Release | Language | Tests on the base | Read as | Champion | Verdicts | Base ready after | Seconds | Sandboxes left |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s %s | %s | %s | %s | %s | %s | %.0f s | %.0f | %d |\n",
			r.name, r.Source.Name, r.Source.Version, r.Language, r.tests, r.format, r.champion, listed(r.verdicts),
			r.prepared.Seconds(), r.took.Seconds(), len(r.left))
	}
	return b.String()
}

// String names what there is.
func (t tests) String() string {
	text := fmt.Sprintf("%d passed, %d failed", t.Passed, t.Failed)
	if t.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	return text
}

func listed(verdicts map[string]string) string {
	var out []string
	for _, model := range slices.Sorted(maps.Keys(verdicts)) {
		out = append(out, model+" "+verdicts[model])
	}
	return strings.Join(out, ", ")
}

// page puts the table between the markers of a file.
func page(name, table string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	before, rest, ok := strings.Cut(string(data), pageBegin)
	_, after, found := strings.Cut(rest, pageEnd)
	if !ok || !found {
		return errors.New(name + " has no markers for the table")
	}
	return os.WriteFile(name, []byte(before+pageBegin+table+pageEnd+after), 0o644) //nolint:gosec // a page for everybody
}
