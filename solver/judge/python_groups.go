package judge

import (
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// testKey returns the first of the usual names that a table of a TOML file has as a key;
// "" if the file has no such table or is not TOML.
func testKey(text string, table ...string) string {
	var file map[string]any
	if _, err := toml.Decode(text, &file); err != nil {
		return ""
	}
	for _, name := range table {
		file, _ = file[name].(map[string]any)
	}
	return testName(func(name string) bool { return file[name] != nil })
}

var (
	iniHeader = regexp.MustCompile(`^\[([^\]]+)\]`)
	iniKey    = regexp.MustCompile(`^([A-Za-z0-9_-]+)\s*[=:]`)
)

// testExtraOf is testKey for the section of extras in a setup.cfg.
func testExtraOf(cfg string) string {
	var keys []string
	section := ""
	for line := range strings.Lines(cfg) {
		if m := iniHeader.FindStringSubmatch(line); m != nil {
			section = m[1]
		} else if m := iniKey.FindStringSubmatch(line); m != nil && section == "options.extras_require" {
			keys = append(keys, m[1])
		}
	}
	return testName(func(name string) bool { return slices.Contains(keys, name) })
}

// testName is the first of the names that projects give to what their tests need.
func testName(has func(name string) bool) string {
	for _, name := range []string{"test", "tests", "testing", "dev"} {
		if has(name) {
			return name
		}
	}
	return ""
}
