package house

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// Print writes the measures as tables.
func (t *Tree) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, c [kinds]int) {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s\n", c[Production], c[Support], c[Test], c[Generated], name)
	}
	fmt.Fprint(w, "production\tsupport\ttests\tgenerated\t  room\n")
	for _, room := range slices.Sorted(maps.Keys(t.Rooms)) {
		row(room, *t.Rooms[room])
	}
	row("all", [kinds]int{t.Total(Production), t.Total(Support), t.Total(Test), t.Total(Generated)})
	fmt.Fprint(w, "\np50\tp90\tp99\tmax\t  lines of production\n")
	for _, sizes := range []struct {
		of   string
		list []Size
	}{{"per file", t.Files}, {"per function", t.Functions}} {
		biggest := last(sizes.list)
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s; the longest is %s\n",
			Percentile(sizes.list, 50), Percentile(sizes.list, 90), Percentile(sizes.list, 99), biggest.Lines, sizes.of, biggest.Name)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print measures: %w", err)
	}
	list(out, fmt.Sprintf("lines of production over %d columns", maxColumns), t.Long)
	list(out, "imports that run up", t.Up)
	return nil
}

func list(out io.Writer, what string, all []string) {
	fmt.Fprintf(out, "\n%s: %d\n", what, len(all))
	for _, one := range all {
		fmt.Fprintln(out, "  "+one)
	}
}

func last(sizes []Size) Size {
	return slices.MaxFunc(append(sizes, Size{}), func(a, b Size) int { return a.Lines - b.Lines })
}

// Percentile is the size that p of a hundred do not exceed, by nearest rank.
func Percentile(sizes []Size, p int) int {
	if len(sizes) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(sizes), func(a, b Size) int { return a.Lines - b.Lines })
	return sorted[(len(sorted)*p+99)/100-1].Lines
}
