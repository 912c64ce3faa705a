package server_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yudai-dev/yudai/server"
)

var update = flag.Bool("update", false, "rewrite config.yml, server/defaults.yml and docs/configuration.md")

// firstDay are the keys and sections of config.yml: what an operator sets on the first day.
var firstDay = []string{
	"server.address", "server.public_url", "server.label",
	"github.app.integration_id", "github.app.webhook_secret_file", "github.app.private_key_file",
	"store.path",
	"models.models",
	"solver.defaults.models", "solver.defaults.temps", "solver.defaults.agents", "solver.defaults.repeat", "solver.stop", "solver.caps.process", "solver.limits.run_time", "solver.limits.run_usd", "solver.limits.solve_time",
	"solver.limits.solve_usd", "solver.daily.repository", "solver.tests.hosts", "solver.tests.install_env",
	"sandbox.driver", "sandbox.local.dir", "sandbox.local.limits.memory_mib", "sandbox.local.limits.cpus",
}

// key is one key of the configuration, with its meaning and its default.
type key struct {
	name, path string
	doc        string
	value      reflect.Value
	keys       []key // of a section, or of each entry of a list
}

func (k key) section() bool { return k.value.Kind() == reflect.Struct }
func (k key) entries() bool { return k.value.Kind() == reflect.Slice && len(k.keys) > 0 }

// comments are the doc comments of struct fields in our sources, by package, type and field.
type comments map[string]string

// of finds the comment of a field; each package is parsed once.
func (c comments) of(t *testing.T, typ reflect.Type, field string) string {
	t.Helper()
	pkg := typ.PkgPath()
	if c[pkg] == "" {
		c[pkg] = "parsed"
		dir := filepath.Join("..", strings.TrimPrefix(pkg, "github.com/yudai-dev/yudai"))
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if body, ok := spec.Type.(*ast.StructType); ok {
					for _, one := range body.Fields.List {
						for _, name := range one.Names {
							c[pkg+"."+spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(one.Doc.Text()), " ")
						}
					}
				}
				return true
			})
		}
	}
	return c[pkg+"."+typ.Name()+"."+field]
}

// keysBelow lists the keys of a section.
func keysBelow(t *testing.T, c comments, v reflect.Value, path string) []key {
	t.Helper()
	var out []key
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-":
			continue
		case option == "inline":
			out = append(out, keysBelow(t, c, v.Field(i), path)...)
			continue
		case name == "":
			t.Errorf("%s%s has no yaml tag", path, f.Name)
		}
		k := key{name: name, path: path + name, doc: c.of(t, v.Type(), f.Name), value: v.Field(i)}
		switch {
		case k.doc == "":
			t.Errorf("%s: write what it means above the field %s of %s", k.path, f.Name, v.Type())
		case k.section():
			k.keys = keysBelow(t, c, k.value, k.path+".")
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			k.keys = keysBelow(t, c, reflect.Zero(f.Type.Elem()), k.path+".")
		}
		out = append(out, k)
	}
	return out
}

// allKeys are the sections of the built-in configuration.
func allKeys(t *testing.T) []key {
	t.Helper()
	return keysBelow(t, comments{}, reflect.ValueOf(server.Default()), "")
}

// only keeps the keys that are listed, with all below them and the sections above them.
func only(list []key, paths []string) []key {
	var out []key
	for _, k := range list {
		if !slices.Contains(paths, k.path) {
			if !k.section() {
				continue
			}
			if k.keys = only(k.keys, paths); len(k.keys) == 0 {
				continue
			}
		}
		out = append(out, k)
	}
	return out
}

// wrapped breaks a text into lines that begin with the prefix.
func wrapped(text, prefix string) string {
	var out strings.Builder
	line := prefix
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) > 110 && line != prefix {
			out.WriteString(strings.TrimRight(line, " ") + "\n")
			line = prefix
		}
		line += word + " "
	}
	return out.String() + strings.TrimRight(line, " ") + "\n"
}

// asYAML writes keys as a configuration with comments.
func asYAML(t *testing.T, list []key, indent string, whole bool) string {
	t.Helper()
	var out strings.Builder
	for _, k := range list {
		if indent == "" {
			out.WriteString("\n")
		}
		out.WriteString(wrapped(k.doc, indent+"# ") + indent + k.name + ":")
		deeper := indent + "  "
		switch {
		case k.section():
			out.WriteString("\n" + asYAML(t, k.keys, deeper, whole))
		case k.entries():
			if k.value.Len() == 0 {
				out.WriteString(" []")
			}
			out.WriteString("\n")
			if whole {
				out.WriteString(deeper + "# The keys of each entry:\n" + entryComments(k.keys, k.path, deeper+"#   "))
			}
			for i := range k.value.Len() {
				out.WriteString(deeper + "- " + server.InYAML(k.value.Index(i)) + "\n")
			}
		case k.value.Kind() == reflect.Map && k.value.Len() > 0:
			out.WriteString("\n")
			for _, name := range slices.Sorted(func(yield func(string) bool) {
				for _, n := range k.value.MapKeys() {
					if !yield(n.String()) {
						return
					}
				}
			}) {
				out.WriteString(deeper + name + ": " + server.InYAML(k.value.MapIndex(reflect.ValueOf(name))) + "\n")
			}
		default:
			out.WriteString(" " + server.InYAML(k.value) + "\n")
		}
	}
	return out.String()
}

// entryComments tells the keys of a list's entries as a comment.
func entryComments(list []key, path, prefix string) string {
	out := ""
	for _, k := range list {
		out += wrapped(strings.TrimPrefix(k.path, path+".")+": "+k.doc, prefix)
		if k.section() {
			out += entryComments(k.keys, path, prefix)
		}
	}
	return out
}

const defaultsHead = `# Every key of the configuration with its built-in default, written by "yudai config --defaults".
# A configuration needs only the keys that it changes. docs/configuration.md is the same as a page.
`

const configHead = `# What an operator sets on the first day. Every value here is the built-in default, and a configuration
# needs only the keys that it changes. docs/configuration.md has all keys; "yudai config --defaults"
# prints them. "yudai serve" reads config.yml in its directory, or the file named by --config.
#
# Times carry their unit: 90s, 20m, 1h30m. A list or a table of names replaces the built-in one.
# Secrets are never written here: they come from environment variables or files. If this file names no
# GitHub App, yudai uses the one that "yudai setup" registered (docs/setup.md).
`

const pageHead = `# Configuration

<!-- Written by "go test ./server -run Reference -update" from the comments in the code. -->

Every key of the configuration, with its meaning, its unit and its built-in default. A configuration needs only the keys that
it changes: ` + "`config.yml`" + ` in the repository has those of the first day, and ` + "`yudai config --defaults`" + ` prints all of them with these
comments, as a file that ` + "`yudai serve --config`" + ` accepts. ` + "`yudai serve`" + ` reads ` + "`config.yml`" + ` in its directory, or the file named by
` + "`--config`" + `.

- Times carry their unit: 90s, 20m, 1h30m. Sizes carry theirs in the key.
- A list or a table of names replaces the built-in one as a whole. Anchors, aliases and tags are not read.
- Everything unknown or wrong is reported at once, with line and column, before anything starts.
- Secrets are not written into the file. A key that ends in _env names an environment variable that holds the secret, a key that
  ends in _file names a file. The variable takes precedence unless the key says otherwise.
- If the file names no GitHub App, yudai uses the one that ` + "`yudai setup`" + ` registered: app.yml beside store.path (docs/setup.md).
- An environment variable overrides every key, also those that the file does not have. Its name is YUDAI_ and the key in capitals, with _
  for each dot: YUDAI_SERVER_ADDRESS is server.address. A text is taken as it is, without quotes. Anything else is written as in the
  file: YUDAI_SOLVER_LIMITS_RUN_TIME=90m, YUDAI_SOLVER_DEFAULTS_MODELS='[gpt-5-mini]', YUDAI_MODELS_MODELS='[{name: m, provider: openai}]'.
  An empty variable changes nothing. A wrong value is reported with the variable's name; a name that is no key's has no effect.
- These variables override keys, too, with less weight: GITHUB_WEB_URL, GITHUB_V3_API_URL, GITHUB_V4_API_URL,
  GITHUB_APP_INTEGRATION_ID.
`

// asPage writes all keys as a page, one heading for each section.
func asPage(t *testing.T, list []key) string {
	t.Helper()
	var out strings.Builder
	out.WriteString(pageHead + "\n## Sections\n\n")
	for _, k := range list {
		out.WriteString("- [" + k.path + "](#" + k.path + "): " + k.doc + "\n")
	}
	for _, k := range list {
		out.WriteString(sectionOfPage(t, k, "##"))
	}
	return out.String()
}

func sectionOfPage(t *testing.T, k key, heading string) string {
	t.Helper()
	out, below := "\n"+heading+" "+k.path+"\n\n"+wrapped(k.doc, ""), ""
	table := ""
	for _, one := range k.keys {
		if one.section() {
			below += sectionOfPage(t, one, "###")
			continue
		}
		table += "| `" + one.path + "` | " + defaultOnPage(t, one) + " | " + strings.ReplaceAll(one.doc, "|", "\\|") + " |\n"
		if one.entries() {
			below += entriesOnPage(one.path, one.keys)
		}
	}
	if table != "" {
		out += "\n| Key | Default | Meaning |\n|---|---|---|\n" + table
	}
	return out + below
}

// entriesOnPage tells the keys of a list's entries.
func entriesOnPage(path string, list []key) string {
	out := "\n### Each entry of " + path + "\n\n| Key | Meaning |\n|---|---|\n"
	var rows func(list []key)
	rows = func(list []key) {
		for _, k := range list {
			out += "| `" + strings.TrimPrefix(k.path, path+".") + "` | " + strings.ReplaceAll(k.doc, "|", "\\|") + " |\n"
			rows(k.keys)
		}
	}
	rows(list)
	return out
}

// defaultOnPage is the default, or where it is found if it is long.
func defaultOnPage(t *testing.T, k key) string {
	t.Helper()
	if text := server.InYAML(k.value); len(text) <= 60 && !strings.Contains(text, "\n") {
		return "`" + text + "`"
	}
	return "see `yudai config --defaults`"
}

// TestReferenceIsTheCode: config.yml, what yudai config --defaults prints, and the page tell every
// key with the meaning that stands above its field and the default that the code has.
func TestReferenceIsTheCode(t *testing.T) {
	t.Parallel()
	all := allKeys(t)
	for file, want := range map[string]string{
		"../config.yml":            configHead + asYAML(t, only(all, firstDay), "", false),
		"defaults.yml":             defaultsHead + asYAML(t, all, "", true),
		"../docs/configuration.md": asPage(t, all),
	} {
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is not what the code says; go test ./server -run Reference -update (-code +file):\n%s", file, diff)
		}
	}
}

// TestReferenceIsAConfiguration: both files are read, and change nothing.
func TestReferenceIsAConfiguration(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../config.yml", "defaults.yml"} {
		cfg, err := server.Load(file, noEnv)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(server.Default(), cfg, cmpopts.EquateEmpty(), withoutClock()); diff != "" {
			t.Errorf("%s differs from the built-in defaults:\n%s", file, diff)
		}
	}
	data, err := os.ReadFile("../config.yml")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "\n"); n > 120 {
		t.Errorf("config.yml has %d lines; an operator reads 120 on the first day", n)
	}
}

// TestFirstDayNamesKeys: each is a key of the code.
func TestFirstDayNamesKeys(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	var note func(list []key)
	note = func(list []key) {
		for _, k := range list {
			known[k.path] = true
			note(k.keys)
		}
	}
	note(allKeys(t))
	for _, path := range firstDay {
		if !known[path] {
			t.Error(fmt.Sprint(path, " is no key"))
		}
	}
}
