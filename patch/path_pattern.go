package patch

import (
	"path"
	"strings"
)

// BadPattern says what is wrong with a pattern of [MatchPath], "" if nothing.
func BadPattern(pattern string) string {
	p := strings.TrimSuffix(strings.TrimPrefix(pattern, "/"), "/")
	if p == "" {
		return "is empty"
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." {
			return "has an empty, . or .. component; write it from the repository's root, like docs/** or *.lock"
		}
		if _, err := path.Match(part, ""); err != nil {
			return "has a [ without its ], or a \\ at the end"
		}
	}
	return ""
}

// MatchPath says whether a pattern covers a path of a repository. Patterns are read
// as in .gitignore: * and ? stand for characters of one component and ** for any
// components; one without a slash matches at any depth, others from the root; a
// directory covers everything below it, and with a slash at its end nothing else.
func MatchPath(pattern, name string) bool {
	below := strings.HasSuffix(pattern, "/")
	pattern = strings.TrimSuffix(pattern, "/")
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	parts := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	names := strings.Split(name, "/")
	last := len(names)
	if below {
		last--
	}
	for n := 1; n <= last; n++ {
		if matchParts(parts, names[:n]) {
			return true
		}
	}
	return false
}

// matchParts matches every name: ** at the end stands for one or more, and elsewhere
// for none, too. It goes back to the last ** only: it takes what an earlier one left.
func matchParts(parts, names []string) bool {
	p, n, star, from := 0, 0, -1, 0
	for n < len(names) {
		if p < len(parts) && parts[p] == "**" {
			star, from = p, n
			p++
			continue
		}
		if p < len(parts) {
			if ok, err := path.Match(parts[p], names[n]); ok && err == nil {
				p++
				n++
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		p, n = star+1, from
	}
	return p == len(parts)
}
