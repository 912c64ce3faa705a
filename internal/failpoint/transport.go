//go:build failpoints

package failpoint

import (
	"net/http"
	"regexp"
	"strings"
)

// Transport marks a point before each request and one after its answer. They
// are named after the seam, the method and the kind of path.
func Transport(seam string, next http.RoundTripper) http.RoundTripper {
	return transport{seam, next}
}

type transport struct {
	seam string
	next http.RoundTripper
}

// RoundTrip makes the request between two points.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	kind := req.Method + "." + pathKind(req.URL.Path)
	Hit(t.seam, kind, "before")
	resp, err := t.next.RoundTrip(req)
	Hit(t.seam, kind, "after")
	return resp, err
}

// particular is a part of a path that names one thing and not a kind.
var particular = regexp.MustCompile(`^([0-9]+|[0-9a-f]{40})$`)

// pathKind keeps the words of a path that say what it is about.
func pathKind(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "api" && len(parts) > 2 { // the prefix of Enterprise Server
		parts = parts[2:]
	}
	if len(parts) > 2 && parts[0] == "repos" {
		parts = parts[3:]
	}
	var kind []string
	for i := range parts {
		after := ""
		if i > 0 {
			after = parts[i-1]
		}
		switch {
		case particular.MatchString(parts[i]), after == "users", after == "collaborators":
		case after == "heads": // a branch, and all that follows
			return strings.Join(kind, "-")
		default:
			kind = append(kind, parts[i])
		}
	}
	if len(kind) == 0 {
		return "repository"
	}
	return strings.Join(kind, "-")
}
