package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml"
)

//go:embed families/*.yml
var familyFiles embed.FS

// family is one file of attacks. They share a world: GitHub, repositories, one running program.
type family struct {
	Family string `yaml:"family"`
	About  string `yaml:"about"`
	// Settings are laid over the program's configuration.
	Settings map[string]any `yaml:"settings"`
	// Repository is a script that changes the repository before its first commit.
	Repository string `yaml:"repository"`
	// Names: the program asks the attacker's name server (as root).
	Names bool `yaml:"names"`
	// Drivers beside local: the family is played once with each, and its attacks have the driver's name before theirs.
	Drivers []string `yaml:"drivers"`
	Driver  string   `yaml:"-"` // the one of this world, "" for local
	// Postgres: the program stores in PostgreSQL, where this machine has it.
	Postgres bool `yaml:"postgres"`
	// Entries are the attacks as they are written: one that is like another has its fields
	// where it has none of its own.
	Entries []map[string]any `yaml:"attacks"`
	Attacks []attack         `yaml:"-"`
}

// attack is one try, and what counts as safe.
type attack struct {
	Name string `yaml:"name"` // letters, digits, -
	Goal string `yaml:"goal"` // what the attacker wants
	As   string `yaml:"as"`   // one of actors
	// Finding is the published finding whose attack this is, such as F1.
	Finding string   `yaml:"finding"`
	Needs   []string `yaml:"needs"`  // programs of this machine, or root, or user
	Sample  bool     `yaml:"sample"` // it is in the sample of CI
	// Open is why it is known not to be held; the page shows it, and the exit code does not.
	Open string `yaml:"open"`

	// Script is what an agent, an installation or a local user runs. It prints a line
	// that begins with GOT if it reached its goal.
	Script string `yaml:"script"`
	Alone  bool   `yaml:"alone"` // an agent's script has a run of its own
	Dies   bool   `yaml:"dies"`  // the script does not come to its end
	Keep   bool   `yaml:"keep"`  // a patch's script leaves the bug in

	// A person's comment or label on an issue, before and after it.
	By     string   `yaml:"by"`
	Text   string   `yaml:"text"`
	Times  int      `yaml:"times"`
	Before []string `yaml:"before"`
	After  []string `yaml:"after"`

	// A request to the program, and how a delivery is signed.
	Method string            `yaml:"method"`
	Path   string            `yaml:"path"`
	Header map[string]string `yaml:"header"`
	Body   string            `yaml:"body"`
	Event  string            `yaml:"event"`
	Sign   string            `yaml:"sign"`
	GUID   string            `yaml:"guid"`

	// Answers are what the model's server says instead of a reply, the last one again and again.
	Answers []answer `yaml:"answers"`
	Agents  bool     `yaml:"gateway"` // the model is called by a program in the sandbox

	// Lies are what a sandbox provider's service answers; Only are the drivers that the attack is for, none for all.
	Lies []lie    `yaml:"lies"`
	Only []string `yaml:"only"`

	Safe safe `yaml:"safe"`
}

// answer is one answer of the model's server.
type answer struct {
	Status  int    `yaml:"status"`
	Command string `yaml:"command"` // a proper reply with this command
	Usage   string `yaml:"usage"`   // its usage, as JSON; "" leaves it out
	Raw     string `yaml:"raw"`     // the whole body instead
	Stream  string `yaml:"stream"`  // one event, sent without end
	Pad     int    `yaml:"pad"`     // bytes of text beside the command
	Hang    bool   `yaml:"hang"`    // no answer
}

// Who attacks.
const (
	asAgent   = "agent"    // commands in the sandbox
	asInstall = "install"  // the repository's install command
	asPatch   = "patch"    // what an agent leaves in the work tree
	asProgram = "program"  // an agent that lives in the sandbox, with the gateway
	asComment = "comment"  // a person on GitHub
	asRequest = "request"  // anybody who reaches the listener
	asSigned  = "delivery" // anybody who sends webhooks
	asModel   = "model"    // the model's server
	asCommand = "command"  // a repository on the user's own machine
	asService = "service"  // the service that has the sandboxes
)

func actors() []string {
	return []string{asAgent, asInstall, asPatch, asProgram, asComment, asRequest, asSigned, asModel, asCommand, asService}
}

var nameShape = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{2,50}$`)

// load reads all families, in the order of their files' names.
func load() ([]family, error) {
	files, err := fs.Glob(familyFiles, "families/*.yml")
	if err != nil {
		return nil, fmt.Errorf("list families: %w", err)
	}
	var all []family
	seen := map[string]string{}
	for _, name := range files {
		data, err := familyFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read family: %w", err)
		}
		var f family
		if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if f.Family+".yml" != path.Base(name) {
			return nil, fmt.Errorf("read %s: it calls itself %s", name, f.Family)
		}
		if err := f.read(); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		for _, one := range f.onDrivers() {
			for i, a := range one.Attacks {
				if err := a.validate(); err != nil {
					return nil, fmt.Errorf("%s: attack %d %q: %w", name, i+1, a.Name, err)
				}
				if other := seen[a.Name]; other != "" {
					return nil, fmt.Errorf("%s: attack %q is in %s already", name, a.Name, other)
				}
				seen[a.Name] = name
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// onDrivers is the family for each of its drivers, or for local alone.
func (f family) onDrivers() []family {
	if len(f.Drivers) == 0 {
		return []family{f}
	}
	var all []family
	for _, driver := range f.Drivers {
		one := f
		one.Family, one.Driver, one.Attacks = f.Family+"-"+driver, driver, nil
		one.About += ": `" + driver + "`"
		for _, a := range f.Attacks {
			if len(a.Only) == 0 || slices.Contains(a.Only, driver) {
				a.Name = driver + "-" + a.Name
				one.Attacks = append(one.Attacks, a)
			}
		}
		all = append(all, one)
	}
	return all
}

// read fills in the attacks from the entries.
func (f *family) read() error {
	known := map[string]map[string]any{}
	for _, entry := range f.Entries {
		whole := map[string]any{}
		if like, ok := entry["like"].(string); ok {
			if known[like] == nil {
				return fmt.Errorf("attack %v is like %s, which does not stand before it", entry["name"], like)
			}
			maps.Copy(whole, known[like])
		}
		maps.Copy(whole, entry)
		delete(whole, "like")
		data, err := yaml.Marshal(whole)
		if err != nil {
			return fmt.Errorf("attack %v: %w", entry["name"], err)
		}
		var a attack
		if err := yaml.UnmarshalWithOptions(data, &a, yaml.Strict()); err != nil {
			return fmt.Errorf("attack %v: %w", entry["name"], err)
		}
		known[a.Name] = whole
		f.Attacks = append(f.Attacks, a)
	}
	return nil
}

func (a attack) validate() error {
	switch {
	case !nameShape.MatchString(a.Name):
		return errors.New("a name has small letters, digits and hyphens")
	case a.Goal == "":
		return errors.New("it has no goal")
	case !slices.Contains(actors(), a.As):
		return fmt.Errorf("as: %q is none of %v", a.As, actors())
	case a.scripted() == (a.Script == ""):
		return fmt.Errorf("script: only and each of agent, install, patch, program and command have one")
	case (a.As == asService) == (len(a.Lies) == 0):
		return errors.New("lies: only and each service tells some")
	}
	return a.Safe.validate(a)
}

// scripted says whether the attacker runs a script.
func (a attack) scripted() bool {
	return slices.Contains([]string{asAgent, asInstall, asPatch, asProgram, asCommand}, a.As)
}
