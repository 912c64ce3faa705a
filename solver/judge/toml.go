package judge

import (
	"regexp"
	"strings"
)

var (
	tomlHeader = regexp.MustCompile(`^\s*\[([^\[\]]+)\]\s*(?:#.*)?$`)
	tomlKey    = regexp.MustCompile(`^\s*["']?([A-Za-z0-9_-][A-Za-z0-9_. "'-]*?)["']?\s*=([^=].*|)$`)
	inlineKey  = regexp.MustCompile(`[{,]\s*["']?([A-Za-z0-9_-]+)["']?\s*=[^=]`)
)

// testKey returns the first of the usual names that a table of a TOML file, or a
// section of an INI file, has as a key. A table may be written in every way TOML
// has: with a header, with dotted keys under a shorter header, or in braces.
func testKey(text, table string) string {
	keys := tableKeys(text, table)
	for _, name := range []string{"test", "tests", "testing", "dev"} {
		if keys[name] {
			return name
		}
	}
	return ""
}

// tableKeys are the first-level keys of a table.
func tableKeys(text, table string) map[string]bool {
	keys, header := map[string]bool{}, ""
	for line := range strings.Lines(text) {
		if m := tomlHeader.FindStringSubmatch(line); m != nil {
			header = bare(m[1]) + "."
			continue
		}
		if strings.HasPrefix(line, "[[") {
			header = "[[." // no table of ours is in a list
			continue
		}
		m := tomlKey.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		name := header + bare(m[1])
		if key, ok := strings.CutPrefix(name, table+"."); ok {
			key, _, _ = strings.Cut(key, ".")
			keys[key] = true
		}
		if name == table {
			for _, in := range inlineKey.FindAllStringSubmatch(m[2], -1) {
				keys[in[1]] = true
			}
		}
	}
	return keys
}

// bare is a dotted key without quotes and blanks.
func bare(key string) string {
	return strings.NewReplacer(" ", "", `"`, "", "'", "", "\t", "").Replace(key)
}
