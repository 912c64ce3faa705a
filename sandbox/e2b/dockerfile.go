package e2b

import (
	"errors"
	"fmt"
	"path"
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
	for _, l := range logicalLines(text) {
		word, rest, _ := strings.Cut(l, " ")
		rest = strings.TrimSpace(rest)
		var s step
		var err error
		switch word = strings.ToUpper(word); word {
		case "FROM":
			if r.from != "" || len(strings.Fields(rest)) != 1 {
				return recipe{}, fmt.Errorf("%q: one FROM with one image, no stages", l)
			}
			r.from = rest
			continue
		case "RUN":
			s.Args = []string{rest, user}
			if rest == "" || strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "--") {
				err = errors.New("a shell text and nothing else")
			}
		case "COPY":
			s.Args, err = copyArgs(rest)
		case "ENV":
			s.Args, err = envArgs(rest)
		case "WORKDIR":
			s.Args, err = []string{rest}, absolute(rest)
		case "USER":
			s.Args, user = []string{rest}, rest
			if len(strings.Fields(rest)) != 1 || strings.Contains(rest, ":") {
				err = errors.New("one user")
			}
		default:
			err = errors.New("FROM, RUN, COPY, ENV, WORKDIR and USER are all there is")
		}
		if err == nil && r.from == "" {
			err = errors.New("FROM comes first")
		}
		if err != nil {
			return recipe{}, fmt.Errorf("%q: %w", l, err)
		}
		s.Type = word
		r.steps = append(r.steps, s)
	}
	if r.from == "" {
		return recipe{}, errors.New("there is no FROM")
	}
	return r, nil
}

// logicalLines joins lines that a backslash continues, and leaves comments and
// empty lines out, between continued ones, too.
func logicalLines(text string) []string {
	var out []string
	open := ""
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		if open != "" {
			l = open + " " + l
		}
		if rest, ok := strings.CutSuffix(l, `\`); ok {
			open = strings.TrimSpace(rest)
			continue
		}
		out, open = append(out, l), ""
	}
	if open != "" {
		out = append(out, open)
	}
	return out
}

func absolute(p string) error {
	if !path.IsAbs(p) || path.Clean(p) != p {
		return errors.New("a clean absolute path")
	}
	return nil
}

// copyArgs are source, destination, owner and mode.
func copyArgs(rest string) ([]string, error) {
	owner, mode := "", ""
	fields := strings.Fields(rest)
	for len(fields) > 0 && strings.HasPrefix(fields[0], "--") {
		if v, ok := strings.CutPrefix(fields[0], "--chown="); ok {
			owner = v
		} else if v, ok := strings.CutPrefix(fields[0], "--chmod="); ok && regexp.MustCompile(`^0?[0-7]{3}$`).MatchString(v) {
			mode = v
		} else {
			return nil, errors.New("only --chown=USER and --chmod=0755 are known")
		}
		fields = fields[1:]
	}
	if len(fields) != 2 || path.IsAbs(fields[0]) || !path.IsAbs(fields[1]) || strings.HasPrefix(path.Clean(fields[0]), "..") {
		return nil, errors.New("one file of this directory, and an absolute place")
	}
	return []string{path.Clean(fields[0]), fields[1], owner, mode}, nil
}

// envArgs are keys and values by turns.
func envArgs(rest string) ([]string, error) {
	var args []string
	for _, pair := range strings.Fields(rest) {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" || strings.ContainsAny(v, `"'\`) {
			return nil, errors.New("KEY=VALUE without quotes")
		}
		args = append(args, k, v)
	}
	if len(args) == 0 {
		return nil, errors.New("KEY=VALUE")
	}
	return args, nil
}
