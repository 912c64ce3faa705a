package patch

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/solve"
)

// Check judges a difference. flags are what people should look at before they merge; refused
// is why it may not be published at all, "" if it may. Both quote paths that the candidate
// chose: they are foreign text.
func Check(d Difference, rules solve.PatchRules) (flags []string, refused string) {
	if n := len(d.Changes); rules.MaxFiles > 0 && n > rules.MaxFiles {
		return nil, fmt.Sprintf("the patch changes %d files, more than %d (solver.patch.max_files)", n, rules.MaxFiles)
	}
	if n := max(len(d.Text), d.binaryBytes()); rules.MaxBytes > 0 && n > rules.MaxBytes {
		return nil, fmt.Sprintf("the patch has %d bytes, more than %d (solver.patch.max_kib)", n, rules.MaxBytes)
	}
	for _, c := range d.Changes {
		if refused = refuse(c, d.file(c.Path), rules); refused != "" {
			return nil, refused
		}
	}
	flags, err := flagsOf(d)
	if err != nil {
		return nil, "the patch cannot be read: " + err.Error()
	}
	return flags, ""
}

// refuse says why one change may not be published.
func refuse(c solve.FileChange, file solve.CommitFile, rules solve.PatchRules) string {
	for _, p := range pathsOf(c) {
		if why := badPath(p); why != "" {
			return fmt.Sprintf("the path %q %s", solve.Clip(p, 120), why)
		}
		if isWorkflow(p) {
			return fmt.Sprintf("it touches %q: the App may not change workflows", solve.Clip(p, 120))
		}
		if strings.EqualFold(p, solve.RepoConfigFile) {
			return fmt.Sprintf("it touches %s, which says how candidates are judged: only people may change it", solve.RepoConfigFile)
		}
		for _, pattern := range rules.Protected {
			if MatchPath(pattern, p) {
				return fmt.Sprintf("it touches %q, which the repository protects (%s in %s)",
					solve.Clip(p, 120), solve.Clip(pattern, 120), solve.RepoConfigFile)
			}
		}
		if rules.RefuseInstructions && isInstruction(p) {
			return fmt.Sprintf("it touches %q, which instructs coding agents (solver.patch.refuse_instructions)", solve.Clip(p, 120))
		}
	}
	switch c.Mode {
	case "", "100644", "100755":
		return ""
	case "160000":
		return fmt.Sprintf("%q is a submodule", solve.Clip(c.Path, 120))
	case modeLink:
		if c.Op == "delete" {
			return ""
		}
		if why := badTarget(c.Path, string(file.Data)); why != "" {
			return fmt.Sprintf("the symlink %q %s", solve.Clip(c.Path, 120), why)
		}
		return ""
	default:
		return fmt.Sprintf("%q has the mode %s, which git does not keep", solve.Clip(c.Path, 120), c.Mode)
	}
}

func pathsOf(c solve.FileChange) []string {
	if c.OldPath == "" {
		return []string{c.Path}
	}
	return []string{c.Path, c.OldPath}
}

// badPath says why no repository should hold a file of that path, "" if it may.
func badPath(p string) string {
	switch {
	case p == "":
		return "is empty"
	case len(p) > 1024:
		return "is longer than 1024 bytes"
	case !utf8.ValidString(p):
		return "is not UTF-8"
	case strings.ContainsFunc(p, unicode.IsControl):
		return "has control characters"
	case strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\`) || (len(p) > 1 && p[1] == ':'):
		return "is absolute"
	}
	for _, part := range strings.FieldsFunc("/"+p, func(r rune) bool { return r == '\\' }) {
		for name := range strings.SplitSeq(strings.TrimPrefix(part, "/"), "/") {
			switch {
			case name == "" || name == "." || name == "..":
				return "has an empty, . or .. component"
			case len(name) > 255:
				return "has a component longer than 255 bytes"
			case isGitName(name, ".git", "git"):
				return "leads into .git"
			case isGitName(name, ".gitmodules", "gitmod"):
				return "defines submodules"
			}
		}
	}
	if hasInvisible(p) {
		return "has invisible characters, or some that turn the direction of text"
	}
	return ""
}

// isGitName says whether a component is the name, also for the file systems of
// macOS (which ignores case and some characters) and Windows (which ignores
// case, dots and spaces at the end, and knows streams and short names).
func isGitName(component, name, short string) bool {
	s, _, _ := strings.Cut(fold(solve.Visible(component)), ":")
	s = strings.TrimRight(s, ". ")
	if s == name {
		return true
	}
	number, ok := strings.CutPrefix(s, short+"~")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// badTarget says why a symlink may not be written, "" if it stays in the tree.
// Only leading ".." count as steps up: behind another component they could
// follow a second symlink, and no reading of the path alone could tell where to.
func badTarget(link, target string) string {
	up, rest := 0, target
	for strings.HasPrefix(rest, "../") || rest == ".." {
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, ".."), "/")
		up++
	}
	depth := strings.Count(path.Clean(link), "/")
	switch {
	case target == "" || !utf8.ValidString(target) || strings.ContainsFunc(target, unicode.IsControl):
		return "has no readable target"
	case strings.Contains(target, `\`):
		return "has a target with a backslash"
	case up > depth:
		return "leaves the repository"
	case rest == "" || rest == ".":
		return ""
	}
	if why := badPath(strings.TrimSuffix(strings.TrimPrefix(rest, "./"), "/")); why != "" {
		return "has a target that " + why
	}
	return ""
}

func isWorkflow(p string) bool {
	p = fold(p)
	return p == ".github/workflows" || strings.HasPrefix(p, ".github/workflows/")
}
