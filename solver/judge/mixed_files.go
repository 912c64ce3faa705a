package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/yudai-dev/yudai/sandbox"
)

// mixedFiles are the base's versions of files that hold a runner's configuration beside much
// else, nil where the base has no such file. They are restored only if that part changed.
type mixedFiles map[string][]byte

// mixed reads the base's versions, before the patch is applied. commands is the text of all
// commands that the tests run.
func (j *judging) mixed(ctx context.Context, commands string) (mixedFiles, error) {
	m := mixedFiles{}
	matters := func(p string) bool {
		kind, ok := mixedFileOf(p)
		return ok && strings.Contains(commands, kind.program)
	}
	for _, p := range touched(j.Changes, matters) {
		data, err := read(ctx, j.sb, p)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path.Base(p), err)
		}
		m[p] = data
	}
	return m, nil
}

// changed lists the files whose part for the runner differs now.
func (m mixedFiles) changed(ctx context.Context, sb sandbox.Sandbox) []string {
	var out []string
	for p, base := range m {
		now, err := read(ctx, sb, p)
		if kind, _ := mixedFileOf(p); err != nil || kind.part(base) != kind.part(now) {
			out = append(out, p)
		}
	}
	return out
}

// maxConfig is how much of a mixed file is looked at, in bytes.
const maxConfig = 1 << 20

// read returns a regular file of the work tree; nil if there is none.
func read(ctx context.Context, sb sandbox.Sandbox, p string) ([]byte, error) {
	r, err := sb.Get(ctx, path.Join(sandbox.RepoDir, p))
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, sandbox.ErrGone) {
			return nil, err
		}
		return nil, nil // no such file, or a link: there is no content to compare
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxConfig))
}

// goDirectives are those of a go.mod that choose other modules, other rules of the language or
// fewer packages than what the tests were written for.
var goDirectives = regexp.MustCompile(`(?m)^\s*(?:replace|exclude|godebug|toolchain|ignore)\b[^(\n]*(?:\([^)]*\))?`)

// mixedFile is a kind of files that hold a runner's configuration beside much else.
type mixedFile struct {
	name    string // a pattern of path.Match
	program string // they matter only to test commands that name this program
	part    func(data []byte) string
}

// mixedFileKinds have the more special patterns first.
var mixedFileKinds = []mixedFile{
	// What else steers tests there: which file or module a name in an import means.
	{"package.json", "", jsonPart("scripts", "type", "imports", "exports", "overrides", "resolutions", "pnpm", "babel",
		"jest", "mocha", "vitest", "ava", "tap", "nyc", "c8", "qunit", "ts-node", "bun")},
	{"tsconfig*.json", "", jsonPart("extends", "ts-node", "compilerOptions.paths", "compilerOptions.baseUrl",
		"compilerOptions.rootDirs", "compilerOptions.plugins", "compilerOptions.customConditions", "compilerOptions.moduleSuffixes")},
	{"jsconfig.json", "", jsonPart("compilerOptions.paths", "compilerOptions.baseUrl")},
	{"go.mod", "", found(goDirectives)},
	{"pyproject.toml", "", tomlPart("tool.pytest", "tool.tox", "tool.nox", "tool.coverage", "tool.hatch.envs",
		"tool.pdm.scripts", "tool.poe", "tool.taskipy")},
	{"Cargo.toml", "", tomlPart("profile", "patch", "replace", "test", "dev-dependencies", "build-dependencies",
		"target.*.dev-dependencies", "package.build", "package.autotests", "lib.test", "lib.doctest", "lib.harness",
		"bin.*.test", "bin.*.harness", "workspace.dependencies.*.path", "workspace.dependencies.*.git",
		"workspace.dependencies.*.package")},
	{"Makefile", "make", whole},
	{"Makefile.*", "make", whole},
	{"*.mk", "make", whole},
	{"*.mak", "make", whole},
	{"pom.xml", "mvn", whole},
	{"*gradle*", "gradle", whole},
	{"libs.versions.toml", "gradle", whole},
	{"Rakefile", "rake", whole},
	{"composer.json", "composer", whole},
	{"[Jj]ustfile", "just", whole},
	{"Taskfile.y*ml", "task", whole},
}

func mixedFileOf(p string) (mixedFile, bool) {
	i := slices.IndexFunc(mixedFileKinds, func(k mixedFile) bool {
		ok, _ := path.Match(k.name, path.Base(p)) // the patterns are well formed
		return ok
	})
	if i < 0 {
		return mixedFile{}, false
	}
	return mixedFileKinds[i], true
}

func whole(data []byte) string { return string(data) }

// found returns the part of a file that matches.
func found(re *regexp.Regexp) func(data []byte) string {
	return func(data []byte) string { return string(bytes.Join(re.FindAll(append(data, '\n'), -1), []byte("\n"))) }
}

// tomlPart is the part of a TOML file below the keys, however it is written. A file that is no
// TOML is compared as a whole.
func tomlPart(keys ...string) func(data []byte) string {
	return parsedPart(func(data []byte, all *map[string]any) error {
		_, err := toml.Decode(string(data), all)
		return err
	}, keys)
}

// jsonPart is the same for JSON.
func jsonPart(keys ...string) func(data []byte) string {
	return parsedPart(func(data []byte, all *map[string]any) error { return json.Unmarshal(data, all) }, keys)
}

// parsedPart selects the values at dotted keys, of which "*" stands for any.
func parsedPart(parse func(data []byte, all *map[string]any) error, keys []string) func(data []byte) string {
	return func(data []byte) string {
		var all map[string]any
		if len(data) > 0 && parse(data, &all) != nil {
			return "raw:" + string(data)
		}
		part := map[string]any{}
		for _, key := range keys {
			collectKey(all, strings.Split(key, "."), "", part)
		}
		text, err := json.Marshal(part)
		if err != nil { // an infinite number
			return "raw:" + string(data)
		}
		return string(text)
	}
}

// collectKey puts the values at a key into part, by their full names.
func collectKey(value any, key []string, name string, part map[string]any) {
	if len(key) == 0 {
		part[name] = value
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for k, below := range v {
			if key[0] == "*" || key[0] == k {
				collectKey(below, key[1:], name+"."+k, part)
			}
		}
	case []map[string]any:
		for i, below := range v {
			if key[0] == "*" {
				collectKey(below, key[1:], fmt.Sprint(name, ".", i), part)
			}
		}
	}
}
