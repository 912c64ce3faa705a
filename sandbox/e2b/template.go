package e2b

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

//go:embed template
var templateFiles embed.FS

// What the template runs before it is frozen, and what says that it is done.
const (
	startCommand = "/opt/yudai/start.sh"
	readyCommand = "/opt/yudai/ready.sh"
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

// ourRecipe reads the template of this version.
func ourRecipe() (recipe, map[string][]byte, error) {
	files, err := fs.Sub(templateFiles, "template")
	if err != nil {
		return recipe{}, nil, fmt.Errorf("read template: %w", err)
	}
	return readRecipe(files)
}

// readRecipe reads a directory with a Dockerfile. The archives are what its COPY
// steps upload, by the hash that the steps have.
func readRecipe(files fs.FS) (recipe, map[string][]byte, error) {
	text, err := fs.ReadFile(files, "Dockerfile")
	if err != nil {
		return recipe{}, nil, fmt.Errorf("read template: %w", err)
	}
	r, err := parseDockerfile(string(text))
	if err != nil {
		return recipe{}, nil, fmt.Errorf("read template: Dockerfile: %w", err)
	}
	archives := map[string][]byte{}
	for i, s := range r.steps {
		if s.Type != "COPY" {
			continue
		}
		data, hash, err := archive(files, s.Args)
		if err != nil {
			return recipe{}, nil, fmt.Errorf("read template: %w", err)
		}
		r.steps[i].Hash, archives[hash] = hash, data
	}
	return r, archives, nil
}

// parseDockerfile reads the part of the format that our own file uses. As in a
// Dockerfile, and unlike at the service, steps run as root until USER says
// otherwise: each RUN names its user.
func parseDockerfile(text string) (recipe, error) {
	word := regexp.MustCompile(`^(\S+)$`)
	forms := map[string]*regexp.Regexp{
		"FROM": word, "WORKDIR": word, "USER": word,
		"RUN":  regexp.MustCompile(`^([^[-].*)$`),
		"COPY": regexp.MustCompile(`^(?:--chown=(\S+) +)?(?:--chmod=(\S+) +)?(?:\./)?([^\s-]\S*) +(\S+)$`),
		"ENV":  regexp.MustCompile(`^(\S+=\S*(?: +\S+=\S*)*)$`),
	}
	var r recipe
	user := rootUser
	for _, line := range logicalLines(text) {
		name, rest, _ := strings.Cut(line, " ")
		s := step{Type: strings.ToUpper(name)}
		rest = strings.TrimSpace(rest)
		form := forms[s.Type]
		if form == nil || !form.MatchString(rest) || (s.Type == "FROM") != (r.from == "") {
			return recipe{}, fmt.Errorf("%q: write one FROM first, then RUN with a shell text, COPY of one file, ENV, WORKDIR or USER", line)
		}
		switch m := form.FindStringSubmatch(rest); s.Type {
		case "FROM":
			r.from = rest
			continue
		case "RUN":
			s.Args = []string{rest, user}
		case "COPY":
			s.Args = []string{m[3], m[4], m[1], m[2]} // source, destination, owner and mode
		case "ENV":
			for _, pair := range strings.Fields(rest) {
				k, v, _ := strings.Cut(pair, "=")
				s.Args = append(s.Args, k, v)
			}
		case "WORKDIR":
			s.Args = []string{rest}
		case "USER":
			s.Args, user = []string{rest}, rest
		}
		r.steps = append(r.steps, s)
	}
	if r.from == "" {
		return recipe{}, errors.New("there is no FROM")
	}
	return r, nil
}

// logicalLines leaves out comments and empty lines, between continued ones, too, and
// joins lines that a backslash continues.
func logicalLines(text string) []string {
	text = regexp.MustCompile(`(?m)^\s*(#.*)?\n`).ReplaceAllString(text+"\n", "")
	text = regexp.MustCompile(`\s*\\\n\s*`).ReplaceAllString(text, " ")
	var out []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// archive packs the file that one COPY takes. The hash is of where it comes from and
// goes to and of its content, and the same on every machine: the service keeps
// uploads by it.
func archive(files fs.FS, args []string) (data []byte, hash string, err error) {
	name := args[0]
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q\n%q %d\n%s\n", args, name, len(content), content))
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	out := tar.NewWriter(zip)
	h := tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	if path.Ext(name) == ".sh" {
		h.Mode = 0o755
	}
	if err := out.WriteHeader(&h); err != nil {
		return nil, "", err
	}
	_, err = out.Write(content)
	err = errors.Join(err, out.Close(), zip.Close())
	return buf.Bytes(), hex.EncodeToString(sum[:]), err
}
