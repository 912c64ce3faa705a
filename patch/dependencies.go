package patch

import (
	"bytes"
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
	read := manifest(p, before, after)
	if read == nil {
		return nil
	}
	return newIn(p, read(before), read(after))
}

// manifest is the reader of a file that names dependencies, nil for other files.
func manifest(p string, before, after []byte) func([]byte) set {
	base := fold(path.Base(p))
	is := func(pattern string) bool { ok, _ := path.Match(pattern, base); return ok }
	switch {
	case base == "go.mod":
		return all(`(?m)^\s*(?:require\s+)?([^\s()]+\.[^\s()]+)\s+v\d`, `(?m)=>\s*(\S+)`)
	case base == "package.json":
		return func(data []byte) set {
			return inJSON(data, "dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "overrides", "resolutions")
		}
	case isRequirements(p, before), isRequirements(p, after):
		return inRequirements
	case base == "setup.cfg":
		return inSetupCfg
	case base == "pipfile":
		return all(`(?m)^\s*["']?([A-Za-z0-9][\w.-]*)["']?\s*=`)
	case base == "pyproject.toml":
		return inTOML
	case base == "cargo.toml":
		return inCargo
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

// inCargo are the dependencies of a Cargo.toml, and those that it takes from another place than they say. Patches
// and replacements name dependencies that are there already.
func inCargo(data []byte) set {
	var file struct {
		Patch   map[string]map[string]any
		Replace map[string]any
	}
	_ = toml.Unmarshal(data, &file)
	out := inTOML(data)
	for _, patched := range file.Patch {
		for name := range patched {
			out["patch of "+name] = true
		}
	}
	for name := range file.Replace {
		out["replacement of "+name] = true
	}
	return out
}

// isRequirements says whether pip reads a file: by its name or directory, or because each of its lines is a requirement
// and one says a version or an address. Such a file may have any name where another one includes it.
func isRequirements(p string, data []byte) bool {
	p = fold(p)
	if ext := path.Ext(p); ext != ".txt" && ext != ".in" && ext != ".pip" {
		return false
	}
	if named(names{
		dirs: []string{"requirements", "reqs"},
		files: []string{
			"*requirements*.txt", "*reqs*.txt", "req.txt", "req[-_.]*.txt", "*[-_.]req.txt", "*requirements*.in", "*constraints*", "*.pip",
		},
	})(p) {
		return true
	}
	sure := false
	for line := range strings.Lines(string(pipLines(data))) {
		if line = strings.TrimSpace(line); !requirement.MatchString(line) {
			return false
		}
		sure = sure || certainRequirement.MatchString(line)
	}
	return sure
}

var (
	// requirement is any line that pip takes: a comment, an option, an address, a path, or a name with what restricts it or options.
	// One line that pip takes and this does not would hide a whole file.
	requirement = regexp.MustCompile(`^(?:[#-].*|.*[/\\$].*|(?:file:|\.).*|[A-Za-z0-9][\w.-]*(?:\s*[\[(<>=!~;@#].*|\s+-.*)?)?$`)
	// certainRequirement is one that nothing else is: with a version, an address or another file.
	certainRequirement = regexp.MustCompile(`^(?:[A-Za-z0-9][\w.-]*\s*(?:\[[^]]*\])?\s*(?:[<>=!~]=|@\s*\w+(?:\+\w+)?:)` +
		`|(?:-[rce]|--index-url)[ =])`)
)

// pipLines is a file in the lines that pip reads: a backslash joins two, except after a comment.
func pipLines(data []byte) []byte {
	ends := regexp.MustCompile(`\r\n|[\r\v\f\x1c-\x1e\x{85}\x{2028}\x{2029}]`)
	data = ends.ReplaceAll(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
	return regexp.MustCompile(`(?m)^([ \t]*#.*)$|\\\n`).ReplaceAll(data, []byte("$1"))
}

// inRequirements are the names, addresses, paths and included files of a file that pip reads.
func inRequirements(data []byte) set {
	return all(`(?m)^\s*([A-Za-z0-9][A-Za-z0-9._-]*)(?:\s*[\[(<>=!~;@,#]|\s+-|\s*$)`,
		`(?m)^\s*(?:-e\s*|--editable[ =])?((?:git\+|https?:|file:|\.)\S+|[^\s@#-][^\s@;#]*/\S*)`,
		`(?m)^\s*(?:-[rc]|--requirement|--constraint)[ \t=]*(\S+)`)(pipLines(data))
}

// inSetupCfg are the requirements in the options of a setup.cfg: on the line of a key, and on those indented below it.
func inSetupCfg(data []byte) set {
	out, section, inside, level := set{}, "", false, -1 // how far the key is indented; -1 is none
	for line := range strings.Lines(string(data)) {
		text := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		switch {
		case text == "" || text[0] == '#' || text[0] == ';':
			continue
		case level >= 0 && indent > level: // the value goes on
		case text[0] == '[':
			section, _, _ = strings.Cut(text[1:], "]")
			inside, level = false, -1
			continue
		default:
			key := text
			if at := strings.IndexAny(text, "=:"); at >= 0 {
				key, text = text[:at], text[at+1:]
			}
			key = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(key)), "-", "_")
			inside, level = section == "options.extras_require" ||
				slices.Contains([]string{"install_requires", "setup_requires", "tests_require", "requires_dist"}, key), indent
		}
		for part := range strings.SplitSeq(text, ",") { // of a version, too: that has no name
			if name := packageName.FindString(strings.TrimSpace(part)); inside && name != "" {
				out[name] = true
			}
		}
	}
	return out
}

// packageName is the name at the beginning of what pip calls a requirement.
var packageName = regexp.MustCompile(`^[\w.-]*`)

// newHosts are the hosts that a lock file or a manifest names and did not name before.
func newHosts(p string, before, after []byte) []string {
	base := fold(path.Base(p))
	lock := named(names{
		suffixes: []string{".lock", ".lockfile", "-lock.json", "-lock.yaml", ".resolved"},
		files: []string{
			"npm-shrinkwrap.json", "bun.lockb", "go.sum", "gemfile", "deno.lock", "packages.lock.json", "pylock*.toml", "conda-lock.yml",
			"pnpm-workspace.yaml", "environment*.y*ml", "pubspec.yaml", "package.swift", "mix.exs", "pixi.toml", ".bowerrc",
		},
	})(base)
	if !lock && manifest(p, before, after) == nil {
		return nil
	}
	hosts := all(`(?i)\b(?:https?|ssh|git|sparse\+https|registry\+https)://(?:[^/\s"'<>@]*@)?([^/\s"'<>:,;)\]]+)`, `\bgit@([\w.-]+):`)
	return newIn(p, hosts(before), hosts(after))
}

// changesInstallScripts names the scripts of a package.json that run without being called, if they are other ones now.
func changesInstallScripts(p string, before, after []byte) []string {
	if fold(path.Base(p)) != "package.json" {
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
