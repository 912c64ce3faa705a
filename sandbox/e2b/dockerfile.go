package e2b

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// step is one step of a template's build.
type step struct {
	Type  string   `json:"type"`
	Args  []string `json:"args"`
	Hash  string   `json:"filesHash,omitempty"` // of what COPY copies
	Force bool     `json:"force"`
}

// recipe is a Dockerfile as the service builds it.
type recipe struct {
	from  string
	steps []step
}

// parseDockerfile reads the part of the format that our own file uses. As in a
// Dockerfile, and unlike at the service, steps run as root until USER says
// otherwise: each RUN names its user.
func parseDockerfile(text string) (recipe, error) {
	var r recipe
	user := rootUser
	for _, line := range logicalLines(text) {
		word, rest, _ := strings.Cut(line, " ")
		s := step{Type: strings.ToUpper(word)}
		var err error
		switch rest = strings.TrimSpace(rest); s.Type {
		case "FROM":
			if r.from != "" || strings.Contains(rest, " ") {
				err = errors.New("one FROM with one image")
			}
			r.from = rest
		case "RUN":
			s.Args = []string{rest, user}
			if strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "--") {
				err = errors.New("a shell text and nothing else")
			}
		case "COPY":
			s.Args, err = copyArgs(strings.Fields(rest))
		case "ENV":
			for _, pair := range strings.Fields(rest) {
				k, v, _ := strings.Cut(pair, "=")
				s.Args = append(s.Args, k, v)
			}
		case "WORKDIR":
			s.Args = []string{rest}
		case "USER":
			s.Args, user = []string{rest}, rest
		default:
			err = errors.New("FROM, RUN, COPY, ENV, WORKDIR and USER are all there is")
		}
		if err == nil && (rest == "" || r.from == "") {
			err = errors.New("FROM comes first, and no line is a word alone")
		}
		if err != nil {
			return recipe{}, fmt.Errorf("%q: %w", line, err)
		}
		if s.Type != "FROM" {
			r.steps = append(r.steps, s)
		}
	}
	if r.from == "" {
		return recipe{}, errors.New("there is no FROM")
	}
	return r, nil
}

// logicalLines joins lines that a backslash continues, and leaves comments and
// empty lines out, between continued ones, too.
func logicalLines(text string) []string {
	var kept []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			kept = append(kept, l)
		}
	}
	var out []string
	joined := regexp.MustCompile(`[ \t]*\\\n`).ReplaceAllString(strings.Join(kept, "\n"), " ")
	for l := range strings.Lines(joined) {
		out = append(out, strings.TrimSpace(l))
	}
	return out
}

// copyArgs are source, destination, owner and mode.
func copyArgs(fields []string) ([]string, error) {
	owner, mode := "", ""
	for ; len(fields) > 0 && strings.HasPrefix(fields[0], "--"); fields = fields[1:] {
		if v, ok := strings.CutPrefix(fields[0], "--chown="); ok {
			owner = v
		} else if v, ok := strings.CutPrefix(fields[0], "--chmod="); ok {
			mode = v
		} else {
			return nil, errors.New("only --chown=USER and --chmod=0755 are known")
		}
	}
	if len(fields) != 2 {
		return nil, errors.New("one file of this directory, and an absolute place")
	}
	return []string{strings.TrimPrefix(fields[0], "./"), fields[1], owner, mode}, nil
}
