package web

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

const (
	// nearLines is how many equal lines stand around a difference.
	nearLines = 3
	// mostCompared is how many pairs of lines are compared at most; what is left counts as all different.
	mostCompared = 1 << 22
)

// twoResults are what two patches make of one file of their base, as far as their hunks show it.
type twoResults struct {
	base    map[int]string      // lines of the base, by number
	is      [2]map[int][]string // what a patch puts in the place of a line, with what it inserts before
	names   [2]string           // of the file afterwards
	places  map[int]bool        // all lines that a hunk shows
	content bool                // not binary
	modes   [3]os.FileMode      // of the file afterwards, where a patch sets it, and at last of the base, where a patch tells it
	deleted bool                // by one of the patches
}

// diffBetween compares what two patches make of one base: with − what only the first result has, with + what only the second has.
// Both hold the lines of the base around their changes, so that nothing else is needed.
func diffBetween(first, second []byte) (v diffView, err error) {
	files := map[string]*twoResults{}
	for side, patch := range [][]byte{first, second} {
		parsed, _, err := gitdiff.Parse(bytes.NewReader(patch))
		if err != nil {
			return v, fmt.Errorf("read a stored patch: %w", err)
		}
		for _, f := range parsed {
			name := cmp.Or(f.OldName, f.NewName)
			if files[name] == nil {
				files[name] = &twoResults{
					base: map[int]string{}, is: [2]map[int][]string{{}, {}}, names: [2]string{name, name}, places: map[int]bool{}, content: true,
				}
			}
			files[name].add(side, f)
		}
	}
	room, rows := mostCompared, 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name].compare(name, &room)
		shown := min(len(f.Rows), maxRows-rows)
		v.Left, rows = v.Left+len(f.Rows)-shown, rows+shown
		if f.Rows = f.Rows[:shown]; shown > 0 {
			v.Files = append(v.Files, f)
		}
	}
	return v, nil
}

// add reads what a patch does to the file.
func (t *twoResults) add(side int, f *gitdiff.File) {
	is := t.is[side]
	t.content, t.names[side] = t.content && !f.IsBinary, cmp.Or(f.NewName, f.OldName)
	t.modes[side], t.modes[2], t.deleted = f.NewMode, cmp.Or(t.modes[2], f.OldMode), t.deleted || f.IsDelete
	for _, hunk := range f.TextFragments {
		at := int(hunk.OldPosition)
		if hunk.OldLines == 0 {
			at++ // then the position is the line before
		}
		for _, line := range hunk.Lines {
			var kept []string
			if line.Op != gitdiff.OpDelete {
				kept = []string{line.Line}
			}
			t.places[at], is[at] = true, append(is[at], kept...)
			if line.Op != gitdiff.OpAdd {
				t.base[at] = line.Line
				at++
			}
		}
	}
}

// compare makes the rows. Only regions of the base that a hunk shows can differ.
func (t *twoResults) compare(name string, room *int) diffFile {
	f := diffFile{Name: name}
	if !t.content {
		f.Rows = append(f.Rows, diffRow{Class: "at", Text: "binary: not compared"})
	} else if t.names[0] != t.names[1] {
		f.Rows = append(f.Rows, diffRow{Class: "at", Text: "− named " + t.names[0] + ", + named " + t.names[1]})
	}
	if a, b := cmp.Or(t.modes[0], t.modes[2]), cmp.Or(t.modes[1], t.modes[2]); a != b && min(a, b) > 0 && !t.deleted {
		f.Rows = append(f.Rows, diffRow{Class: "at", Text: fmt.Sprintf("− mode %o, + mode %o", uint32(a), uint32(b))})
	}
	first := [2]int{1, 1} // the numbers of a region's first lines
	var results [2][]string
	before := 0 // the line of the base before this one
	for _, k := range slices.Sorted(maps.Keys(t.places)) {
		if k != before+1 {
			f.addRegion(results, first, room)
			for i, text := range results {
				first[i] += len(text) + k - before - 1
			}
			results = [2][]string{}
		}
		text, shown := t.base[k]
		for i, is := range t.is {
			if lines, changed := is[k]; changed {
				results[i] = append(results[i], lines...)
			} else if shown {
				results[i] = append(results[i], text)
			}
		}
		before = k
	}
	f.addRegion(results, first, room)
	return f
}

// addRegion adds the differences of a region, with equal lines around them. at are the numbers of its first lines.
func (f *diffFile) addRegion(results [2][]string, at [2]int, room *int) {
	rows, near := edits(results[0], results[1], room), -1 // near is the last row that stands near a change before it
	for i := range rows {
		row := &rows[i]
		if row.Class != "add" {
			row.Old, at[0] = strconv.Itoa(at[0]), at[0]+1
		}
		if row.Class != "del" {
			row.New, at[1] = strconv.Itoa(at[1]), at[1]+1
		}
	}
	changed := func(r diffRow) bool { return r.Class != "" }
	for i, row := range rows {
		switch {
		case row.Class == "add":
			f.Added++
		case row.Class == "del":
			f.Deleted++
		case !slices.ContainsFunc(rows[max(0, i-nearLines):min(len(rows), i+nearLines+1)], changed):
			continue
		}
		if i > near {
			f.Rows = append(f.Rows, diffRow{Class: "at", Text: fmt.Sprintf("@@ −%s +%s @@", cmp.Or(row.Old, "…"), cmp.Or(row.New, "…"))})
		}
		text, whole := strings.CutSuffix(row.Text, "\n")
		row.Text = strings.ToValidUTF8(text, "\uFFFD")
		f.Rows, near = append(f.Rows, row), i+1
		if !whole && changed(row) {
			f.Rows = append(f.Rows, diffRow{Class: "at", Text: `\ No newline at end of file`})
		}
	}
}

// edits turn one text into another: the lines of both, each with the class and the sign of a diff.
func edits(a, b []string, room *int) (out []diffRow) {
	add := func(class, sign string, lines ...string) {
		for _, text := range lines {
			out = append(out, diffRow{Class: class, Sign: sign, Text: text})
		}
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		add("", "", a[0])
		a, b = a[1:], b[1:]
	}
	end := 0
	for end < min(len(a), len(b)) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	tail := a[len(a)-end:]
	a, b = a[:len(a)-end], b[:len(b)-end]
	common := commonLines(a, b, room)
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j] && common != nil:
			add("", "", a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common == nil || common[i+1][j] >= common[i][j+1]):
			add("del", "−", a[i])
			i++
		default:
			add("add", "+", b[j])
			j++
		}
	}
	add("", "", tail...)
	return out
}

// commonLines tells of each pair of places how many lines the rests of two texts have in common; nil where there is no room.
func commonLines(a, b []string, room *int) [][]int32 {
	if len(a)*len(b) > *room {
		return nil
	}
	*room -= len(a) * len(b)
	out := make([][]int32, len(a)+1)
	for i := range out {
		out[i] = make([]int32, len(b)+1)
	}
	for i, line := range slices.Backward(a) {
		for j, other := range slices.Backward(b) {
			if out[i][j] = max(out[i+1][j], out[i][j+1]); line == other {
				out[i][j] = out[i+1][j+1] + 1
			}
		}
	}
	return out
}
