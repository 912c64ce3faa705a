package server

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
)

// Bounds that hold for every key; many have narrower ones of their own.
const (
	maxText     = 4 << 10  // bytes of a text on one line
	maxLines    = 64 << 10 // bytes of a text that may have several
	maxDuration = 10 * 365 * 24 * time.Hour
	maxNumber   = math.MaxInt32
)

// badText says what is wrong with a text of the configuration, "" if nothing. Only
// prompts and shell commands have several lines; nothing has characters that people
// cannot see, in which a value would hide another.
func badText(path, s string) string {
	lines := strings.HasPrefix(path, "solver.strategies") || path == "solver.tests.command" || path == "solver.tests.install"
	most := maxText
	if lines {
		most = maxLines
	}
	switch {
	case len(s) > most:
		return fmt.Sprintf("has %d bytes; %d are the most", len(s), most)
	case s != "" && strings.TrimSpace(s) == "":
		return "is blank"
	case !lines && strings.ContainsAny(s, "\r\n"):
		return "must be one line"
	}
	for _, r := range s {
		if unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) || hides(r) {
			return fmt.Sprintf("holds the character U+%04X, which cannot be seen; take it out", r)
		}
	}
	return ""
}

// hides says whether a character changes how others are shown, or has no shape itself.
func hides(r rune) bool {
	return r == '\u2028' || r == '\u2029' || r == '\uFEFF' || unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u00ad'
}

// inList says whether a dotted path leads through an element of a list.
func inList(path string) bool {
	for part := range strings.SplitSeq(path, ".") {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			return true
		}
	}
	return false
}
