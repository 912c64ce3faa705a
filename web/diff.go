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
	old, next, rows := 0, 0, 0
	for raw := range bytes.Lines(patch) {
		line := strings.ToValidUTF8(strings.TrimSuffix(string(raw), "\n"), "\uFFFD")
		if name, ok := strings.CutPrefix(line, "diff --git "); ok {
			v.Files = append(v.Files, diffFile{Name: fileName(name)})
			old, next = 0, 0
			continue
		}
		if len(v.Files) == 0 {
			continue
		}
		f := &v.Files[len(v.Files)-1]
		row := diffRow{Text: line}
		switch inHunk := old+next > 0; {
		case strings.HasPrefix(line, "@@ "):
			old, next = hunk(line)
			row.Class = "at"
		case !inHunk && (strings.HasPrefix(line, "index ") || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")):
			continue
		case !inHunk:
			row.Class = "at" // modes, renames, binary files
		case strings.HasPrefix(line, "+"):
			row = diffRow{"add", "", strconv.Itoa(next), "+", line[1:]}
			next, f.Added = next+1, f.Added+1
		case strings.HasPrefix(line, "-"):
			row = diffRow{"del", strconv.Itoa(old), "", "−", line[1:]}
			old, f.Deleted = old+1, f.Deleted+1
		case strings.HasPrefix(line, " ") || line == "":
			row = diffRow{"", strconv.Itoa(old), strconv.Itoa(next), "", strings.TrimPrefix(line, " ")}
			old, next = old+1, next+1
		default:
			row.Class = "at"
		}
		if rows++; rows > maxRows {
			v.Left++
			continue
		}
		f.Rows = append(f.Rows, row)
	}
	return v
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
