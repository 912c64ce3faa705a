package solve

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// BranchName fills the template of a solve's branch: {issue} and {solve} are
// replaced. The result must be a name that git allows, and {solve} must be in
// the template, since making the branch is what claims the solve on GitHub.
func BranchName(template string, s Solve) (string, error) {
	if !strings.Contains(template, "{solve}") {
		return "", fmt.Errorf("the branch template %q must contain {solve}, so that two solves never share a branch", template)
	}
	name := strings.NewReplacer("{issue}", fmt.Sprint(s.Issue.Number), "{solve}", string(s.ID)).Replace(template)
	if strings.ContainsAny(name, "{}") {
		return "", fmt.Errorf("the branch template %q has a word that is not {issue} or {solve}", template)
	}
	why := BadBranch(name)
	if len(name) > 200 {
		why = "is longer than 200 bytes"
	}
	if why != "" {
		return "", fmt.Errorf("the branch name %q %s", name, why)
	}
	return name, nil
}

// BadBranch says what git refuses in a branch name (git-check-ref-format(1)), "" if nothing.
func BadBranch(name string) string {
	unusable := func(r rune) bool { return unicode.IsControl(r) || invisible(r) || r == utf8.RuneError }
	switch {
	case len(name) > 255:
		return "is longer than 255 bytes"
	case strings.HasPrefix(name, "-"):
		return "begins with a dash"
	case strings.HasPrefix(name, "refs/"):
		return "begins with refs/"
	case strings.HasSuffix(name, "."), strings.Contains(name, ".."), strings.Contains(name, "@{"), name == "@":
		return "has a dot or sign where git allows none"
	case strings.ContainsAny(name, " ~^:?*[\\") || strings.ContainsFunc(name, unusable):
		return "has a character that git does not allow"
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return "has a part that git does not allow"
		}
	}
	return ""
}
