package swerex

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// paths replaces paths that clients take for granted.
type paths struct {
	to    map[string]string
	names *regexp.Regexp // nil if there is nothing to replace
}

func newPaths(to map[string]string) paths {
	var names []string
	for from := range to {
		names = append(names, regexp.QuoteMeta(from))
	}
	if len(names) == 0 {
		return paths{}
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // the longer ones first
	return paths{to, regexp.MustCompile(`(^|[^\w./-])(` + strings.Join(names, "|") + `)($|[^\w.-])`)}
}

// text replaces them where they stand as paths of their own or begin one.
func (p paths) text(s string) string {
	if p.names == nil {
		return s
	}
	replace := func(m string) string {
		parts := p.names.FindStringSubmatch(m)
		return parts[1] + p.to[parts[2]] + parts[3]
	}
	// Twice: two that are separated by one sign share it, and the first match takes it.
	return p.names.ReplaceAllStringFunc(p.names.ReplaceAllStringFunc(s, replace), replace)
}

// content replaces them in a file that goes to a path, if that is below one of them and
// the file is text.
func (p paths) content(path string, data []byte) []byte {
	if p.text(path) == path || !utf8.Valid(data) || slices.Contains(data, 0) {
		return data
	}
	return []byte(p.text(string(data)))
}
