package judge

import (
	"cmp"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/yudai-dev/yudai/solve"
)

// part is a directory of a repository that has tests of its own.
type part struct {
	Setup
	dir, language string
}

// parts are the directories below that have tests.
func (r *repository) parts() ([]part, error) {
	var out []part
	for _, dir := range r.modules() {
		s, language, err := newRepository(dir, r.paths, r.content).detect()
		if err != nil {
			return nil, err
		}
		if s.Test.Command != "" {
			out = append(out, part{s, dir, language})
		}
	}
	return out, nil
}

// whole adds to the root's setup what else has tests: Go's modules below are tested, too, and
// what is tested in another way is named. Of other languages, the root's command reaches below.
func (r *repository) whole(s Setup, language string, below []part) (Setup, error) {
	var others []string
	for _, e := range ecosystems {
		if e.language == "" || e.language == language || r.first(e.manifests...) == "" {
			continue
		}
		if _, ok := e.detect(r); ok {
			others = append(others, "the "+e.language+" tests of "+r.first(e.manifests...))
		}
	}
	modules := []part{{s, ".", language}}
	for _, p := range below {
		switch {
		case p.language == "":
		case p.language != language:
			others = append(others, "the "+p.language+" tests in "+p.dir)
		case language == goLanguage && s.Test.Source == "go.mod":
			modules = append(modules, p)
		case language == goLanguage && !strings.Contains(r.read("go.work"), p.dir):
			others = append(others, "the tests of the module in "+p.dir)
		}
	}
	if len(modules) > 1 {
		s = goModules(modules)
	}
	if len(others) > 0 {
		s.Untested = "Not run, because the test command is that of " + s.Test.Source + ": " + solve.ListWords(others, 5) +
			" (solver.tests.command can run both)"
	}
	return s, r.err
}

// goModules tests several modules, one after the other. Nothing stands behind the call of go, so that a
// failing test ends nothing; see canaryKindOf.
func goModules(modules []part) Setup {
	s, each, install := modules[0].Setup, `printf '%s\0'`, false
	for _, m := range modules {
		each += " " + shellescape.Quote(m.dir)
		install = install || m.Install != ""
	}
	each += " | xargs -0 -I DIR env -C DIR "
	s.Test.Command, s.Test.Plain = each+"go test -json ./...", each+"go test ./..."
	s.Why += ", in several modules"
	if install {
		command := each + "go mod download"
		if modules[0].dir == "." { // the root can be tested without the others
			s.Unlocked = []string{"not all modules below the root could be downloaded, so some of their tests may not be built"}
			command = cmp.Or(s.Install, "true") + " && { " + command + " || " + printing(s.Unlocked[0]) + "; }"
		}
		s.Install, s.Hosts = command, goRegistries
	}
	return s
}
