package solve

import (
	"regexp"
	"strings"
)

// Marker is the hidden first line by which a text of ours is found again on
// GitHub: id is a solve's or an ask's, kind the effect's.
func Marker(id, kind string) string {
	return "<!-- yudai solve=" + MarkerWord(id) + " kind=" + MarkerWord(kind) + " -->"
}

var markerPattern = regexp.MustCompile(`^<!-- yudai solve=([0-9A-Za-z_-]{1,64}) kind=([0-9A-Za-z_-]{1,64}) -->$`)

// FindMarker reads the marker of a text. Anybody can write one: it counts only
// in a text whose author is our App. A marker below the first line is somebody's quote.
func FindMarker(text string) (id, kind string, ok bool) {
	first, _, _ := strings.Cut(text, "\n")
	m := markerPattern.FindStringSubmatch(strings.TrimRight(first, "\r"))
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// MarkerWord keeps what cannot end an HTML comment.
func MarkerWord(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_', r == '-':
			return r
		default:
			return -1
		}
	}, s)
	return s[:min(len(s), 64)]
}
