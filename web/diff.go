package web

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// maxRows is how many lines of a patch a page shows.
const maxRows = 3_000

// diffView is a patch as a page shows it.
type diffView struct {
	Files []diffFile
	Left  int // lines that are not shown
}

type diffFile struct {
	Name           string
	Added, Deleted int
	Rows           []diffRow
}

// diffRow is a line of a patch. Its sign says without a colour what it is.
type diffRow struct{ Class, Old, New, Sign, Text string }

// readDiff reads a patch as git writes it.
func readDiff(patch []byte) (v diffView) {
	old, next, rows := 0, 0, 0 // old and next are 0 before the first hunk of a file
	for raw := range bytes.Lines(patch) {
		line := strings.ToValidUTF8(strings.TrimSuffix(string(raw), "\n"), "\uFFFD")
		if names, ok := strings.CutPrefix(line, "diff --git "); ok {
			v.Files = append(v.Files, diffFile{Name: fileName(names)})
			old, next = 0, 0
			continue
		}
		header := old+next == 0 && (strings.HasPrefix(line, "index ") || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ "))
		if len(v.Files) == 0 || header {
			continue
		}
		f := &v.Files[len(v.Files)-1]
		row := f.row(line, &old, &next)
		if rows++; rows > maxRows {
			v.Left++
			continue
		}
		f.Rows = append(f.Rows, row)
	}
	return v
}

// row reads a line of a file's part. old and next are the numbers of the lines that come.
func (f *diffFile) row(line string, old, next *int) diffRow {
	text := line[min(len(line), 1):]
	switch {
	case strings.HasPrefix(line, "@@ "):
		*old, *next = hunk(line)
	case *old+*next == 0: // modes, renames, binary files
	case strings.HasPrefix(line, "+"):
		*next, f.Added = *next+1, f.Added+1
		return diffRow{"add", "", strconv.Itoa(*next - 1), "+", text}
	case strings.HasPrefix(line, "-"):
		*old, f.Deleted = *old+1, f.Deleted+1
		return diffRow{"del", strconv.Itoa(*old - 1), "", "−", text}
	case strings.HasPrefix(line, " ") || line == "":
		*old, *next = *old+1, *next+1
		return diffRow{"", strconv.Itoa(*old - 1), strconv.Itoa(*next - 1), "", text}
	}
	return diffRow{Class: "at", Text: line}
}

// fileName is the new name in "a/x b/x".
func fileName(names string) string {
	if i := strings.LastIndex(names, " b/"); i >= 0 {
		return names[i+3:]
	}
	return names
}

// hunk reads where a hunk begins: "@@ -18,4 +18,6 @@".
func hunk(line string) (old, next int) {
	var a, b string
	fmt.Sscanf(line, "@@ -%s +%s", &a, &b) //nolint:errcheck // zeros will do
	number := func(s string) int {
		s, _, _ = strings.Cut(s, ",")
		n, _ := strconv.Atoi(s)
		return n
	}
	return max(number(a), 1), max(number(b), 1)
}
