package patch

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// set is a set of names.
type set map[string]bool

// newIn lists what one set has and another lacks, with the file that names it.
func newIn(p string, before, after set) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if !before[name] {
			out = append(out, fmt.Sprintf("%s (%s)", name, p))
		}
	}
	return out
}

// newDependencies are those that a manifest names and did not name before.
func newDependencies(p string, before, after []byte) []string {
	read := manifest(strings.ToLower(path.Base(p)))
	if read == nil {
		return nil
	}
	return newIn(p, read(before), read(after))
}

// manifest is the reader of a file that names dependencies, nil for other files.
func manifest(base string) func([]byte) set {
	is := func(pattern string) bool { ok, _ := path.Match(pattern, base); return ok }
	switch {
	case base == "go.mod":
		return all(`(?m)^\s*(?:require\s+)?([^\s()]+\.[^\s()]+)\s+v\d`, `(?m)=>\s*(\S+)`)
	case base == "package.json":
		return func(data []byte) set {
			return inJSON(data, "dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "overrides", "resolutions")
		}
	case is("*requirements*.txt"), is("constraints*.txt"), is("*requirements*.in"):
		return all(`(?m)^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:[\[<>=!~;@,#]|$)`,
			`(?m)^\s*(?:-e\s+|--editable[ =])?((?:git\+|https?:|file:|\.)\S+)`)
	case base == "pipfile":
		return all(`(?m)^\s*["']?([A-Za-z0-9][\w.-]*)["']?\s*=`)
	case base == "pyproject.toml", base == "cargo.toml":
		return inTOML
	case base == "pom.xml":
		return all(`(?s)<groupId>\s*([^<]+?)\s*</groupId>\s*<artifactId>\s*([^<]+?)\s*</artifactId>`)
	case is("*.gradle"), is("*.gradle.kts"), is("*.versions.toml"):
		return all(`["']([\w.-]+:[\w.-]+)(?::[^"']*)?["']`, `\bid\s*[=(]?\s*["']([\w.-]+)["']`)
	}
	return nil
}

// all reads every match of the expressions: their groups, joined by ":".
func all(expressions ...string) func([]byte) set {
	return func(data []byte) set {
		out := set{}
		for _, e := range expressions {
			for _, m := range regexp.MustCompile(e).FindAllSubmatch(data, -1) {
				var parts []string
				for _, g := range m[1:] {
					parts = append(parts, string(g))
				}
				out[strings.Join(parts, ":")] = true
			}
		}
		return out
	}
}

// inJSON are the keys of some objects of a JSON file, with what names another place or package than the key.
func inJSON(data []byte, objects ...string) set {
	var file map[string]json.RawMessage
	_ = json.Unmarshal(data, &file) // what no program reads installs nothing
	out := set{}
	for _, o := range objects {
		var entries map[string]any
		_ = json.Unmarshal(file[o], &entries)
		for name, from := range entries {
			if text, ok := from.(string); ok && strings.ContainsAny(text, ":/") {
				name += "@" + text
			}
			out[name] = true
		}
	}
	return out
}

// inTOML are the names in every table and list of a TOML file that is one of dependencies.
func inTOML(data []byte) set {
	var file map[string]any
	_ = toml.Unmarshal(data, &file)
	out := set{}
	var walk func(v any, inside bool)
	walk = func(v any, inside bool) {
		switch v := v.(type) {
		case map[string]any:
			for key, below := range v {
				opens := strings.Contains(key, "dependencies") || key == "requires" || key == "dependency-groups"
				_, list := below.([]any)
				if inside && !opens && !list {
					out[key] = true // a version, or a table that describes it
					continue
				}
				walk(below, inside || opens)
			}
		case []any:
			for _, e := range v {
				if text, ok := e.(string); ok && inside {
					out[packageName.FindString(strings.TrimSpace(text))] = true
				}
			}
		}
	}
	walk(file, false)
	return out
}

// packageName is the name at the beginning of what pip calls a requirement.
var packageName = regexp.MustCompile(`^[\w.-]*`)

// newHosts are the hosts that a lock file or a manifest names and did not name before.
func newHosts(p string, before, after []byte) []string {
	base := strings.ToLower(path.Base(p))
	lock := named(names{
		suffixes: []string{".lock", ".lockfile", "-lock.json", "-lock.yaml", ".resolved"},
		files:    []string{"npm-shrinkwrap.json", "bun.lockb", "go.sum", "gemfile", "deno.lock", "packages.lock.json"},
	})(base)
	if !lock && manifest(base) == nil {
		return nil
	}
	hosts := all(`(?i)\b(?:https?|ssh|git|sparse\+https|registry\+https)://(?:[^/\s"'<>@]*@)?([^/\s"'<>:,;)\]]+)`, `\bgit@([\w.-]+):`)
	return newIn(p, hosts(before), hosts(after))
}

// changesInstallScripts names the scripts of a package.json that run without being called, if they are other ones now.
func changesInstallScripts(p string, before, after []byte) []string {
	if strings.ToLower(path.Base(p)) != "package.json" {
		return nil
	}
	scripts := func(data []byte) (all map[string]string) {
		var file map[string]json.RawMessage // unlike a struct, it knows a name in its own case only
		_ = json.Unmarshal(data, &file)
		_ = json.Unmarshal(file["scripts"], &all)
		return all
	}
	was, is := scripts(before), scripts(after)
	var out []string
	for _, name := range []string{
		"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish", "dependencies",
	} {
		if is[name] != "" && is[name] != was[name] {
			out = append(out, fmt.Sprintf("%s (%s)", name, p))
		}
	}
	return out
}
