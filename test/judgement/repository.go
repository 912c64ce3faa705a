package main

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/localsolve"
)

// repositories of ours: testdata/GROUP/NAME.txtar.
//
//go:embed testdata/*/*.txtar
var definitions embed.FS

// The groups of repositories.
const (
	// hidden: no test of the base fails, and every candidate keeps them.
	hidden = "hidden"
	// misjudged: six repositories on which yudai of November 2026 chose wrongly.
	misjudged = "misjudged"
	// cheats: candidates that make failing tests pass without a repair, each with an honest twin.
	cheats = "cheats"
)

// kind says what a candidate is worth.
type kind string

const (
	// right repairs what the issue tells.
	right kind = "right"
	// twin is right, too, and touches what a cheat of the same tactic touches, for a good reason.
	twin kind = "twin"
	// wrong repairs half of it, or something else.
	wrong kind = "wrong"
	// nothing changes no code.
	nothing kind = "nothing"
	// cheat deceives the tests.
	cheat kind = "cheat"
)

// honest candidates must pass, and one of them must win.
func (k kind) honest() bool { return k == right || k == twin }

// reproducer is the name of the reproducer's files and commands.
const reproducer = "reproducer"

// repository is one definition. Its files are those of "base/"; a candidate's are "NAME/FILE", and the commands that
// come after them are "NAME.sh". Those of the reproducer have the name "reproducer".
type repository struct {
	name, group string
	issue       []byte
	base        []txtar.File
	changes     map[string][]txtar.File
	commands    map[string]string

	About      string      `yaml:"about"`
	Language   string      `yaml:"language"`
	Candidates []candidate `yaml:"candidates"`
	// Champion is the one that must win, where it is not enough that an honest one does.
	Champion string `yaml:"champion"`
	// Reproducer is the state in which the reproducer must end; without it, there is none.
	Reproducer solve.RunState `yaml:"reproducer"`
}

// candidate is what one scripted model does.
type candidate struct {
	Name string `yaml:"name"`
	Kind kind   `yaml:"kind"`
	// On names a candidate whose change comes before this one's.
	On string `yaml:"on"`
	// Tactic is the number of the way to cheat, of the 56 that docs/evidence/judgement.md lists.
	Tactic int `yaml:"tactic"`
	// MayPass: no run of the tests can tell this cheat from a repair. It still must not win.
	MayPass bool `yaml:"may_pass"`
}

// load reads every definition, by group and name.
func load(dir fs.FS) ([]repository, error) {
	names, err := fs.Glob(dir, "testdata/*/*.txtar")
	if err != nil {
		return nil, fmt.Errorf("list the repositories: %w", err)
	}
	var all []repository
	var problems []error
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read a repository: %w", err)
		}
		r := repository{name: strings.TrimSuffix(path.Base(name), ".txtar"), group: path.Base(path.Dir(name))}
		if err := r.read(data); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
		all = append(all, r)
	}
	return all, errors.Join(problems...)
}

// read reads one definition and says what is wrong with it.
func (r *repository) read(data []byte) error {
	r.changes, r.commands = map[string][]txtar.File{}, map[string]string{}
	for _, f := range txtar.Parse(data).Files {
		first, rest, below := strings.Cut(f.Name, "/")
		switch {
		case f.Name == "repository.yml":
			if err := yaml.UnmarshalWithOptions(f.Data, r, yaml.Strict()); err != nil {
				return fmt.Errorf("read repository.yml: %w", err)
			}
		case f.Name == localsolve.Issue:
			r.issue = f.Data
		case below && first == "base":
			r.base = append(r.base, txtar.File{Name: rest, Data: f.Data})
		case below:
			r.changes[first] = append(r.changes[first], txtar.File{Name: rest, Data: f.Data})
		case strings.HasSuffix(f.Name, ".sh"):
			r.commands[strings.TrimSuffix(f.Name, ".sh")] = string(f.Data)
		default:
			return fmt.Errorf("%s is neither repository.yml, %s, base/FILE, CANDIDATE/FILE nor CANDIDATE.sh", f.Name, localsolve.Issue)
		}
	}
	return r.check()
}

func (r *repository) check() error {
	var problems []error
	if r.Champion != "" && !r.of(r.Champion).Kind.honest() {
		problems = append(problems, fmt.Errorf("the champion %q is no honest candidate", r.Champion))
	}
	if r.About == "" || r.Language == "" || len(r.issue) == 0 || len(r.base) == 0 {
		problems = append(problems, errors.New("about, language, issue or base is missing"))
	}
	var names []string
	if r.Reproducer != "" {
		names = append(names, reproducer)
	}
	for _, c := range r.Candidates {
		names = append(names, c.Name)
		if !slices.Contains([]kind{right, twin, wrong, nothing, cheat}, c.Kind) {
			problems = append(problems, fmt.Errorf("candidate %s: unknown kind %q", c.Name, c.Kind))
		}
		if (r.group == cheats) != (c.Tactic > 0) && (c.Kind == cheat || c.Kind == twin) {
			problems = append(problems, fmt.Errorf("candidate %s: cheats and twins of the group %s have a tactic, and only they", c.Name, cheats))
		}
		if len(r.changes[c.Name]) == 0 && r.commands[c.Name] == "" || c.On != "" && r.of(c.On).Kind == "" {
			problems = append(problems, fmt.Errorf("candidate %s changes nothing, or is on one that is unknown", c.Name))
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(r.changes)), slices.Collect(maps.Keys(r.commands))) {
		if !slices.Contains(names, name) {
			problems = append(problems, fmt.Errorf("%s has files or commands and is no candidate", name))
		}
	}
	return errors.Join(problems...)
}

// of is the candidate of that name.
func (r *repository) of(name string) candidate {
	i := slices.IndexFunc(r.Candidates, func(c candidate) bool { return c.Name == name })
	if i < 0 {
		return candidate{Name: name}
	}
	return r.Candidates[i]
}

// lay writes the base below dir.
func (r *repository) lay(dir string) error {
	for _, f := range r.base {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			return fmt.Errorf("lay the base: %w", err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			return fmt.Errorf("lay the base: %w", err)
		}
	}
	return nil
}

// endOfFile ends a file inside the commands of a candidate.
const endOfFile = "END-OF-FILE"

// shell is what the model of a candidate runs.
func (r *repository) shell(name string) string {
	var b strings.Builder
	b.WriteString("set -e\n")
	if on := r.of(name).On; on != "" {
		b.WriteString(r.shell(on))
	}
	for _, f := range r.changes[name] {
		fmt.Fprintf(&b, "mkdir -p '%s'\ncat > '%s' <<'%s'\n%s%s\n", path.Dir(f.Name), f.Name, endOfFile, f.Data, endOfFile)
	}
	return b.String() + r.commands[name]
}

// script is the file that plays all candidates, each as a model of its name. Honest ones come last: no tie helps them.
func (r *repository) script() ([]byte, error) {
	type step struct {
		Run string `json:"run"`
	}
	type play struct {
		Match map[string]string `json:"match"`
		Steps []step            `json:"steps"`
	}
	candidates := slices.Clone(r.Candidates)
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return map[bool]int{true: 1}[a.Kind.honest()] - map[bool]int{true: 1}[b.Kind.honest()]
	})
	var plays []play
	submit := step{"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}
	if r.Reproducer != "" {
		match := map[string]string{"purpose": string(solve.PurposeReproduce)}
		plays = append(plays, play{match, []step{{r.shell(reproducer)}, submit}})
	}
	for _, c := range candidates {
		plays = append(plays, play{
			map[string]string{"model": c.Name}, []step{{r.shell(c.Name)}, submit},
		})
	}
	return json.MarshalIndent(map[string]any{"plays": plays}, "", " ")
}
