package patch

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scanPatch walks through every line and counts the files. It accepts only the
// lines that git diff writes, each where it may stand.
func scanPatch(patch []byte) (files int, err error) {
	s := scanner{}
	for n, line := range bytes.SplitAfter(patch, []byte("\n")) {
		if len(line) > 0 && !s.accept(strings.TrimSuffix(string(line), "\n")) {
			return 0, fmt.Errorf("line %d is no part of a patch of git diff", n+1)
		}
	}
	if s.inHunk() {
		return 0, errors.New("the patch ends inside a hunk")
	}
	return s.files, nil
}

// Only is the part of a patch that changes the files that keep names; of a renamed file the
// new name counts. The patch is one that [Parse] reads.
func Only(patch []byte, keep func(path string) bool) ([]byte, error) {
	parsed, err := parseDiff(patch)
	if err != nil {
		return nil, fmt.Errorf("parse patch: %w", err)
	}
	var out []byte
	s, kept := scanner{}, false
	for line := range bytes.SplitAfterSeq(patch, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		before := s.files
		s.accept(strings.TrimSuffix(string(line), "\n"))
		if s.files != before {
			kept = keep(nameOf(parsed[before]))
		}
		if kept {
			out = append(out, line...)
		}
	}
	return out, nil
}

// scanner is where in a patch the next line stands.
type scanner struct {
	position   position
	old, added int64 // lines left of the hunk
	files      int
}

type position int

const (
	patchStart position = iota
	patchHeader
	patchHunks
	patchBinary
)

func (s *scanner) inHunk() bool { return s.old > 0 || s.added > 0 }

func (s *scanner) accept(line string) bool {
	if s.inHunk() {
		return s.content(line)
	}
	if strings.HasPrefix(line, "diff --git ") {
		s.position = patchHeader
		s.files++
		return readableHeader(line)
	}
	switch s.position {
	case patchHeader:
		return s.header(line) || s.hunk(line)
	case patchHunks:
		return s.hunk(line) || strings.HasPrefix(line, `\ `)
	case patchBinary:
		return binaryLine(line)
	default:
		return false
	}
}

func (s *scanner) header(line string) bool {
	if line == "GIT binary patch" || strings.HasPrefix(line, "Binary files ") && strings.HasSuffix(line, " differ") {
		s.position = patchBinary
		return true
	}
	return readableHeader(line) && hasAnyPrefix(line,
		"old mode ", "new mode ", "deleted file mode ", "new file mode ", "rename from ", "rename to ",
		"copy from ", "copy to ", "similarity index ", "dissimilarity index ", "index ", "--- ", "+++ ")
}

// readableHeader bounds the lines that hold names: the parser's time grows with
// the square of a line, through its guesses at which space ends the first name.
func readableHeader(line string) bool {
	return len(line) <= 16<<10 && strings.Count(line, " ")+strings.Count(line, "\t") <= 200 && utf8.ValidString(line)
}

// hunk reads the two line counts of "@@ -a,b +c,d @@".
func (s *scanner) hunk(line string) bool {
	rest, ok := strings.CutPrefix(line, "@@ -")
	head, _, found := strings.Cut(rest, " @@")
	before, after, both := strings.Cut(head, " +")
	if !ok || !found || !both {
		return false
	}
	old, okOld := hunkLines(before)
	added, okAdded := hunkLines(after)
	s.position, s.old, s.added = patchHunks, old, added
	return okOld && okAdded
}

// hunkLines is the second number of "start,lines", 1 if there is none.
func hunkLines(s string) (int64, bool) {
	start, lines, both := strings.Cut(s, ",")
	if !both {
		lines = "1"
	}
	_, errStart := strconv.ParseUint(start, 10, 31)
	n, errLines := strconv.ParseUint(lines, 10, 31)
	return int64(n), errStart == nil && errLines == nil
}

// content takes one line of a hunk.
func (s *scanner) content(line string) bool {
	switch {
	case line == "" || line[0] == ' ':
		s.old--
		s.added--
	case line[0] == '-':
		s.old--
	case line[0] == '+':
		s.added--
	default:
		return line[0] == '\\'
	}
	return s.old >= 0 && s.added >= 0
}

// binaryLine accepts "literal 12", "delta 12", base85 data, and the empty line behind it.
func binaryLine(line string) bool {
	for _, kind := range []string{"literal ", "delta "} {
		if n, ok := strings.CutPrefix(line, kind); ok {
			return n != "" && strings.Trim(n, "0123456789") == ""
		}
	}
	return line == "" || (len(line) >= 6 && (len(line)-1)%5 == 0 && !strings.ContainsAny(line, " \t\r\"'\\,./:[]"))
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
