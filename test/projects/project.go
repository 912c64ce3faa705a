package main

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed testdata/*.txtar
var definitions embed.FS

// project is one definition: testdata/NAME.txtar with project.yml, issue.md and script.yml.
type project struct {
	name          string
	issue, script []byte

	About    string `yaml:"about"`
	Language string `yaml:"language"`
	Licence  string `yaml:"licence"`
	// Sample says that this is its language's project of the short run.
	Sample bool   `yaml:"sample"`
	Source source `yaml:"source"`
	// Bug is what is wrong with the repository that yudai gets.
	Bug []edit `yaml:"bug"`
	// Tests are the base's own results: passed, failed, skipped.
	Tests tests `yaml:"tests"`
	// Format is how the tests have to be read.
	Format string `yaml:"format"`
	// Champion is the model that has to win, Verdicts what each has to get.
	Champion string            `yaml:"champion"`
	Verdicts map[string]string `yaml:"verdicts"`
}

// source is a release as its package manager hands it out.
type source struct {
	Ecosystem string `yaml:"ecosystem"` // go, crates, pypi, npm
	Name      string `yaml:"name"`
	Version   string `yaml:"version"`
	Sum       string `yaml:"sum"` // of a Go module as in go.sum, else SHA-256 of the released file, hex
}

// edit replaces a text that stands in a file exactly once.
type edit struct {
	File    string `yaml:"file"`
	Find    string `yaml:"find"`
	Replace string `yaml:"replace"`
}

// tests counts results.
type tests struct {
	Passed  int `yaml:"passed" json:"passed"`
	Failed  int `yaml:"failed" json:"failed"`
	Skipped int `yaml:"skipped" json:"skipped"`
}

// load reads every definition, by language and name.
func load(dir fs.FS) ([]project, error) {
	names, err := fs.Glob(dir, "testdata/*.txtar")
	if err != nil {
		return nil, fmt.Errorf("list the definitions: %w", err)
	}
	var all []project
	var problems []error
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read a definition: %w", err)
		}
		p, err := read(strings.TrimSuffix(path.Base(name), ".txtar"), data)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b project) int {
		return cmp.Or(cmp.Compare(a.Language, b.Language), cmp.Compare(a.name, b.name))
	})
	return all, errors.Join(problems...)
}

// read reads one definition and says what is missing.
func read(name string, data []byte) (project, error) {
	p := project{name: name}
	for _, f := range txtar.Parse(data).Files {
		switch f.Name {
		case "project.yml":
			if err := yaml.UnmarshalWithOptions(f.Data, &p, yaml.Strict()); err != nil {
				return p, fmt.Errorf("read project.yml: %w", err)
			}
		case "issue.md":
			p.issue = f.Data
		case "script.yml":
			p.script = f.Data
		default:
			return p, fmt.Errorf("%s is not one of project.yml, issue.md, script.yml", f.Name)
		}
	}
	var missing []string
	for what, there := range map[string]bool{
		"issue.md": len(p.issue) > 0, "script.yml": len(p.script) > 0, "about": p.About != "", "language": p.Language != "",
		"licence": p.Licence != "", "source": p.Source.Name != "" && p.Source.Version != "" && p.Source.Sum != "",
		"bug": len(p.Bug) > 0, "tests": p.Tests.Passed > 0, "format": p.Format != "", "champion": p.Verdicts[p.Champion] == "passed",
		"verdicts": len(p.Verdicts) >= 3,
	} {
		if !there {
			missing = append(missing, what)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return p, fmt.Errorf("missing: %s", strings.Join(missing, ", "))
	}
	return p, nil
}
