package server

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/yudai-dev/yudai/internal/strictyaml"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/web"
)

// commandLine is where a value comes from that the command, or a flag of it, has set.
const commandLine = "command line"

// source is a key's value, written in YAML, and where it comes from.
type source struct{ value, from string }

// values are all keys with their values, each text written by shown; nil leaves texts as they are.
func (c Config) values(shown func(key, text string) string) (keys []string, values map[string]string) {
	values = map[string]string{}
	strictyaml.EachKey(&c, func(key string, v reflect.Value) {
		keys, values[key] = append(keys, key), inYAML(key, v, shown)
	})
	return keys, values
}

// noteSources notes where values come from: what from names for a key, and otherwise, where the value is another one than
// at the last note, since.
func (c *Config) noteSources(from func(key string) string, since string) {
	keys, now := c.values(nil)
	_, builtIn := Default().values(nil)
	c.sources = maps.Clone(c.sources)
	if c.sources == nil {
		c.sources = map[string]source{}
	}
	for _, key := range keys {
		was, noted := c.sources[key]
		if !noted {
			was.value = builtIn[key]
		}
		origin := from(key)
		if origin == "" && now[key] != was.value {
			origin = since
		}
		if origin != "" {
			c.sources[key] = source{now[key], origin}
		}
	}
}

// changedSince notes what the last step changed.
func (c *Config) changedSince(step string) { c.noteSources(func(string) string { return "" }, step) }

// sourceIn names the lines of a file and the variables that a key's value comes from.
func sourceIn(file string, p *strictyaml.Problems) func(key string) string {
	return func(key string) string {
		var all []string
		for _, at := range p.Places(key) {
			if at.Variable != "" {
				all = append(all, "variable "+at.Variable)
			} else {
				all = append(all, fmt.Sprintf("%s, line %d", file, at.Line))
			}
		}
		return strings.Join(all, ", ")
	}
}

// inYAML writes a value on one line, each text in it by shown, if that is not nil.
func inYAML(key string, v reflect.Value, shown func(key, text string) string) string {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		text := time.Duration(v.Int()).String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		return text
	case v.Kind() == reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case v.Kind() == reflect.Slice:
		list := make([]string, v.Len())
		for i := range list {
			list[i] = inYAML(key, v.Index(i), shown)
		}
		return "[" + strings.Join(list, ", ") + "]"
	case v.Kind() == reflect.Struct, v.Kind() == reflect.Map:
		return tableInYAML(key, v, shown)
	case v.Kind() == reflect.String && shown != nil:
		v = reflect.ValueOf(shown(key, v.String()))
	}
	text, err := yaml.Marshal(v.Interface())
	if err != nil { // no text, number or switch has one
		return "?"
	}
	return strings.TrimSpace(string(text))
}

// tableInYAML writes the names of a map, or the fields of a struct that are set, with their values.
func tableInYAML(key string, v reflect.Value, shown func(key, text string) string) string {
	var list []string
	add := func(name string, value reflect.Value) {
		list = append(list, name+": "+inYAML(key+"."+name, value, shown))
	}
	if v.Kind() == reflect.Map {
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			add(name.String(), v.MapIndex(name))
		}
		return "{" + strings.Join(list, ", ") + "}"
	}
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); name != "-" && !v.Field(i).IsZero() {
			add(name, v.Field(i))
		}
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// leastSecret is how long a text is that is kept out of pages because it is a secret: a shorter one stands in other words.
const leastSecret = 8

// secrets replaces the secrets that the configuration names, where they are in the environment or in files.
func (c Config) secrets(getenv func(string) string) *strings.Replacer {
	var all []string
	add := func(text string) {
		if text = strings.TrimSpace(text); len(text) >= leastSecret {
			all = append(all, text, "[secret]")
		}
	}
	for _, m := range c.Models.Models {
		add(getenv(model.UsualEnv(m.Provider)))
	}
	c.values(func(key, text string) string {
		switch {
		case strings.HasSuffix(key, "_env"):
			add(getenv(text))
		case strings.HasSuffix(key, "_file"):
			if info, err := os.Stat(text); err == nil && info.Mode().IsRegular() && info.Size() <= maxConfig { // a pipe is read once
				data, _ := os.ReadFile(text) // what cannot be read is not known, and not shown
				add(string(data))
			}
		}
		return text
	})
	return strings.NewReplacer(all...)
}

// shownText is a text of the configuration for a page: secrets are left out, and of a variable or a file that holds one it
// says whether it is there.
func shownText(getenv func(string) string, secrets *strings.Replacer) func(key, text string) string {
	withUser := regexp.MustCompile(`://[^/\s]*@`)
	return func(key, text string) string {
		variable, file := strings.HasSuffix(key, "_env"), strings.HasSuffix(key, "_file")
		there := variable && getenv(text) != ""
		if file {
			_, err := os.Stat(text)
			there = err == nil
		}
		switch {
		case text == "":
			return ""
		case patch.LooksSecret(text), withUser.MatchString(text), strings.Contains(key, "env."):
			return "(not shown)"
		case there:
			text += " (set)"
		case variable && strings.ToUpper(text) != text: // who mistakes the key for the name of its variable writes the secret here
			return "(not shown: no variable of this name is set)"
		case variable, file:
			text += " (not set)"
		}
		return secrets.Replace(text)
	}
}

// repositoryKeys are the keys whose value a repository's own file may narrow or replace, with its key there.
func repositoryKeys() map[string]string {
	return map[string]string{
		"solver.tests.command": "test.command", "solver.tests.format": "test.format", "solver.tests.report": "test.report",
		"solver.tests.install": "install.command", "solver.tests.hosts": "network", "solver.strategies": "strategies",
		"solver.profiles": "profiles", "sandbox.driver": "sandbox", "solver.stop": "stop", "solver.reproduce": "reproduce",
		"solver.limits.run_time": "limits.run_time", "solver.limits.solve_time": "limits.solve_time",
		"solver.limits.run_steps": "limits.run_steps", "solver.limits.run_usd": "limits.run_usd", "solver.limits.solve_usd": "limits.solve_usd",
		"solver.limits.parallel": "limits.parallel", "solver.max_experiments": "limits.max_experiments",
		"solver.daily.repository.solves": "limits.solves_per_day", "solver.daily.repository.usd": "limits.usd_per_day",
	}
}

// inForce are all keys with what holds now, for the page of operators.
func (c Config) inForce(shown func(key, text string) string) (all []web.Setting) {
	keys, now := c.values(shown)
	_, plain := c.values(nil)
	_, builtIn := Default().values(nil)
	narrowed := repositoryKeys()
	for _, key := range keys {
		one := web.Setting{Key: key, Value: now[key], From: cmp.Or(c.sources[key].from, web.FromProgram)}
		if plain[key] != builtIn[key] {
			one.Default = builtIn[key]
		}
		if c.Solver.Repository.Read {
			one.Repository = narrowed[key]
		}
		all = append(all, one)
	}
	return all
}
