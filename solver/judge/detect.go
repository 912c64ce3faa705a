package judge

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// ErrNoTests says that no test command was recognised; the text tells how to name one.
var ErrNoTests = errors.New("no test command was recognised")

// Setup is how a repository is prepared and tested.
type Setup struct {
	// Install is a command for bash in the repository. It runs once, with network; "" installs nothing.
	Install string
	Test    solve.TestCommand
	// Hosts are the package registries that Install needs.
	Hosts []string
	// Why says in one line what was recognised.
	Why string
	// Unlocked are sentences that Install prints as a line of its own where it goes on without something, such as a lock file.
	Unlocked []string
	// Untested says which tests of the repository Test does not run; "" if none are known.
	Untested string
}

// The report files of the detected test commands. They are outside the work tree, so that they
// are never part of a patch.
// Each run of the tests has a directory of its own instead: see unnamed.
const (
	reportDir = sandbox.KeepDir + "/report/"
	junitFile = reportDir + "junit.xml"
	jestFile  = reportDir + "jest.json"
)

// ecosystem is one kind of repository: how it is recognised, installed and tested.
type ecosystem struct {
	language string // "" is any
	// manifests make a directory a module of its own.
	manifests []string
	// registries are the hosts that its install command needs.
	registries []string
	// detect returns the setup without hosts; false if the repository is of another kind, or has no tests.
	detect func(r *repository) (Setup, bool)
}

// ecosystems are tried in this order. A new one is a file ecosystem_NAME.go and a row here; a new
// way to write results is a row of formats.
var ecosystems = []ecosystem{
	{goLanguage, []string{"go.mod"}, goRegistries, detectGo},
	{"Rust", []string{"Cargo.toml"}, rustRegistries, detectRust},
	{"Python", []string{"pyproject.toml", "setup.py", "setup.cfg"}, pythonRegistries, detectPython},
	{"JavaScript", []string{"package.json"}, nodeRegistries, detectNode},
	{"Java", []string{"pom.xml"}, mavenRegistries, detectMaven},
	{"Java", []string{"build.gradle", "build.gradle.kts"}, gradleRegistries, detectGradle},
	{"", []string{"Makefile"}, nil, detectMake},
}

// Registries are all hosts that [Detect] can name.
func Registries() []string {
	var hosts []string
	for _, e := range ecosystems {
		hosts = append(hosts, e.registries...)
	}
	return hosts
}

// Detect finds out how a repository is installed and tested, from the names of its files and
// the content of a few. The first of the ecosystems that is there and has tests wins; Untested names
// the others. If the root has none and exactly one directory below has, that one is used; of Go all
// are. ErrNoTests if there is none, or more than one.
func Detect(paths []string, content func(path string) ([]byte, error)) (Setup, error) {
	root := newRepository("", paths, content)
	setup, language, err := root.detect()
	if err != nil {
		return Setup{}, err
	}
	parts, err := root.parts()
	switch {
	case err != nil:
		return Setup{}, err
	case setup.Test.Command != "":
		return root.whole(setup, language, parts)
	case len(parts) == 0:
		return Setup{}, fmt.Errorf(
			"%w: name one with --test of yudai solve, with solver.tests.command in config.yml (solver.tests.install can install what it needs)",
			ErrNoTests)
	case len(parts) == 1:
		return parts[0].Setup.below(parts[0].dir), nil
	case !slices.ContainsFunc(parts, func(p part) bool { return p.language != goLanguage }):
		return goModules(parts), nil
	}
	return Setup{}, fmt.Errorf(
		"%w: the root has no tests and %d directories below have: choose with --test of yudai solve, with solver.tests.command in config.yml",
		ErrNoTests, len(parts))
}

// below turns the setup of a directory into one of the root.
func (s Setup) below(dir string) Setup {
	cd := "cd " + shellescape.Quote(dir) + " && "
	if s.Install != "" {
		s.Install = cd + s.Install
	}
	s.Test.Command, s.Test.Plain = cd+s.Test.Command, cd+s.Test.ForPeople()
	s.Test.Source = path.Join(dir, s.Test.Source)
	if s.Test.Report != "" && !path.IsAbs(s.Test.Report) {
		s.Test.Report = path.Join(dir, s.Test.Report)
	}
	s.Why = "in " + dir + ": " + s.Why
	return s
}

// repository is what detectors see: one directory and what is below it.
type repository struct {
	dir     string // "" for the root
	paths   []string
	content func(path string) ([]byte, error)
	err     error // the first failed read
}

func newRepository(dir string, paths []string, content func(string) ([]byte, error)) *repository {
	r := &repository{dir: dir, content: content}
	for _, p := range paths {
		if dir == "" {
			r.paths = append(r.paths, p)
		} else if below, ok := strings.CutPrefix(p, dir+"/"); ok {
			r.paths = append(r.paths, below)
		}
	}
	return r
}

// detect returns the setup and its language; no test command if there are no tests.
func (r *repository) detect() (Setup, string, error) {
	for _, e := range ecosystems {
		s, ok := e.detect(r)
		if r.err != nil {
			return Setup{}, "", fmt.Errorf("detect the tests: %w", r.err)
		}
		if ok && s.Install != "" {
			s.Hosts = e.registries
		}
		if ok {
			return s, e.language, nil
		}
	}
	return Setup{}, "", nil
}

func (r *repository) has(name string) bool { return slices.Contains(r.paths, name) }

// read returns the file's text, "" if there is none or it is a link to none. It keeps the first other error.
func (r *repository) read(name string) string {
	if !r.has(name) {
		return ""
	}
	data, err := r.content(path.Join(r.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && r.err == nil {
		r.err = fmt.Errorf("read %s: %w", name, err)
	}
	return string(data)
}

// any reports whether a file satisfies match.
func (r *repository) any(match func(p string) bool) bool { return slices.ContainsFunc(r.paths, match) }

// first returns the first of the names that exists, "" if none.
func (r *repository) first(names ...string) string {
	if i := slices.IndexFunc(names, r.has); i >= 0 {
		return names[i]
	}
	return ""
}

// modules lists the directories below that hold a manifest, without those that
// hold other people's code, data or examples, and without modules of modules.
func (r *repository) modules() []string {
	var out []string
	for _, p := range r.paths {
		isManifest := func(e ecosystem) bool { return slices.Contains(e.manifests, path.Base(p)) }
		if dir := path.Dir(p); dir != "." && !notOwnCode(dir) && slices.ContainsFunc(ecosystems, isManifest) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(d string) bool {
		return slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(d, o+"/") })
	})
}

// foreignDirs hold the code of others, data or examples.
var foreignDirs = []string{
	"vendor", "node_modules", "third_party", "testdata", "examples", "example", "docs", "fixtures", "template", "templates",
}

func notOwnCode(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || slices.Contains(foreignDirs, part)
	})
}
