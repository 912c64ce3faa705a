package server_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/strictyaml"
	"github.com/yudai-dev/yudai/server"
)

// leaf is one key of the configuration that holds a value, not a section.
type leaf struct {
	key string // dotted; elements of lists of structs have no index in it
	typ reflect.Type
}

// leavesOf lists the leaves of a configuration struct in order.
func leavesOf(typ reflect.Type, path string) (leaves []leaf) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		at := f.Type
		if at.Kind() == reflect.Slice && at.Elem().Kind() == reflect.Struct {
			leaves = append(leaves, leaf{path + name, at})
			at = at.Elem()
		}
		switch {
		case name == "-":
		case option == "inline":
			leaves = append(leaves, leavesOf(at, path)...)
		case at.Kind() == reflect.Struct:
			leaves = append(leaves, leavesOf(at, path+name+".")...)
		default:
			leaves = append(leaves, leaf{path + name, at})
		}
	}
	return leaves
}

// document is a file with one value, as YAML, at one key. where is the key as
// problems write it, and line the line it stands on.
func document(key, value string) (text, where string, line int) {
	if rest, ok := strings.CutPrefix(key, "models.models."); ok {
		text = "solver: {defaults: {models: [m]}}\nmodels:\n  models:\n    - " + others(rest)
		where, line = "models.models.0."+rest, 4+strings.Count(others(rest), "\n")
		for _, part := range strings.Split(rest, ".") {
			text += part + ": "
			if part == "price" {
				text, line = text+"\n        ", line+1
			}
		}
		return text + value + "\n", where, line
	}
	if rest, ok := strings.CutPrefix(key, "solver.waves."); ok {
		return "solver:\n  waves:\n    - " + rest + ": " + value + "\n", "solver.waves.0." + rest, 3
	}
	if rest, ok := strings.CutPrefix(key, "agents.commands."); ok {
		text = "agents:\n  commands:\n    - "
		line = 3
		for _, o := range []string{"name: a", "apis: [chat]", "command: [a]", "install: a"} {
			if name, _, _ := strings.Cut(o, ":"); name != rest && (rest != "shell" || name != "command") {
				text, line = text+o+"\n      ", line+1
			}
		}
		return text + rest + ": " + value + "\n", "agents.commands.0." + rest, line
	}
	indent := ""
	for part := range strings.SplitSeq(key, ".") {
		text += indent + part + ":\n"
		indent, line = indent+"  ", line+1
	}
	return strings.TrimSuffix(text, "\n") + " " + value + "\n", key, line
}

// others are the keys that an entry of a model needs beside the one under test.
func others(key string) string {
	text := ""
	for _, o := range []struct{ key, value string }{{"name", "m"}, {"provider", "openai"}} {
		if o.key != key {
			text += o.key + ": " + o.value + "\n      "
		}
	}
	return text
}

// wrongTypes are values that no key of the type takes; an empty one is among them.
func wrongTypes(typ reflect.Type) []string {
	all := []string{"", "~", "&a x", "!!binary x", "{a: b}", "[[x]]", "[~]"}
	switch {
	case typ == reflect.TypeFor[time.Duration]():
		return append(all, "5", "1.5", "true", "x", "20 bananas", "1y", `""`, "9999999h", "2026-11-21", "[1s]")
	case typ.Kind() == reflect.String:
		return append(all, "5", "1.5", "true", ".nan", "[x]", "{}")
	case typ.Kind() == reflect.Bool:
		return append(all, "5", "x", `"true"`, "[true]", "enabled")
	case typ.Kind() == reflect.Float64:
		return append(all, "x", "true", `"5"`, "1s", "[5]", ".nan", ".inf", "-.inf", "1e999", "$5", "1,5")
	case typ.Kind() == reflect.Int, typ.Kind() == reflect.Int64:
		return append(all, "x", "true", "1.5", `"5"`, "1s", "[5]", "99999999999999999999", "-99999999999999999999", ".inf")
	case typ.Kind() == reflect.Map:
		return slices.DeleteFunc(append(all, "x", "5", "[a]", "{a: 5}", "{a: [b]}", "{a: ~}"), func(s string) bool { return s == "{a: b}" })
	case typ.Elem().Kind() == reflect.String:
		return append(all, "x", "5", "{}", "[5]", "[true]", "[{a: b}]", "[a, ~]")
	default:
		return append(all, "x", "5", "{}", "[x]", "[true]", "[{a: b}]", "[1, ~]", "[.nan]", `["1"]`)
	}
}

// outOfRange are values of the type that most keys refuse.
func outOfRange(typ reflect.Type) []string {
	long := strings.Repeat("long", 20_000)
	switch {
	case typ == reflect.TypeFor[time.Duration]():
		return []string{"-1s", "-1ns", "0s", "1ns", "2540400h"}
	case typ.Kind() == reflect.String:
		return []string{`""`, `" "`, `"a\nb"`, `"\x00"`, `"\e[31mred"`, `"\u202egnp.exe"`, `"a\u200bb"`, long}
	case typ.Kind() == reflect.Float64:
		return []string{"-1", "-0.000001", "0", "1e30", "1e308"}
	case typ.Kind() == reflect.Int, typ.Kind() == reflect.Int64:
		return []string{"-9223372036854775808", "-1", "0", "2147483648", "9223372036854775807"}
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.String:
		return []string{"[]", `[""]`, `[" "]`, `["a\nb"]`, `["\u202e"]`, "[" + long + "]", "[nonsense]"}
	case typ.Kind() == reflect.Slice:
		return []string{"[]", "[-1]", "[1e308]", "[99999999]", "[1, 1]"}
	case typ.Kind() == reflect.Map:
		return []string{"{}", `{plain: "", "": x}`, `{plain: "", " ": x}`, `{plain: "", "a\x00b": x}`, `{plain: "", "a,b": x}`, `{plain: "", ` + long + `: x}`, `{plain: "", a: ` + strings.Repeat(long, 5) + `}`}
	}
	return nil
}

// byDesign are the values of outOfRange that a key takes, each for a reason.
func byDesign() map[string][]string {
	names := []string{`""`} // no such file, variable or command
	return map[string][]string{
		"server.public_url": names, "server.metrics_address": names,
		"server.api_token_env": names, "server.api_token_file": names,
		"github.app.integration_id":     {"0"}, // none
		"github.app.webhook_secret_env": names, "github.app.webhook_secret_file": names,
		"github.app.private_key_env": names, "github.app.private_key_file": names,
		"github.write.interval":       {"0s", "1ns"}, // an Enterprise Server may have no limits
		"github.write.progress_every": {"0s", "1ns"},
		"github.heal.every":           {"0s"}, "github.heal.scan_every": {"0s"}, // off
		"store.batch_delay": {"0s", "1ns"},
		"store.dsn_env":     names, "store.dsn_file": names,
		"models.retry_wait":      {"1ns"},
		"models.models.model":    names, // the name above
		"models.models.base_url": names, "models.models.api_key_env": names, "models.models.api_key_file": names,
		"models.models.temperature": names, "models.models.reasoning_effort": names, "models.models.script": names,
		"models.models.max_tokens":         {"0"},
		"models.models.timeout":            {"0s"},
		"models.models.price.input":        {"0"}, // unknown
		"models.models.price.cached_input": {"0"}, "models.models.price.cache_write": {"0"}, "models.models.price.output": {"0"},
		"solver.defaults.models":     {"[]"}, // then every request names its own
		"solver.defaults.temps":      {"[]"}, // none is sent
		"solver.defaults.edits":      {"[]"}, // no limit
		"solver.defaults.strategies": {"[]"}, // no text
		"solver.defaults.agents":     {"[]"},
		"solver.waves":               {"[]"},
		"solver.waves.models":        {"[]"}, // as in defaults, and so are the other axes
		"solver.waves.temps":         {"[]"}, "solver.waves.edits": {"[]"}, "solver.waves.strategies": {"[]"},
		"solver.waves.agents": {"[]"}, "solver.waves.repeat": {"0"},
		"solver.caps.installation": {"0"}, "solver.caps.repository": {"0"}, // 0 is no bound
		"solver.daily.repository.solves": {"0"}, "solver.daily.repository.usd": {"0"},
		"solver.daily.installation.solves": {"0"}, "solver.daily.installation.usd": {"0"},
		"solver.daily.process.solves": {"0"}, "solver.daily.process.usd": {"0"},
		"solver.limits.run_time": {"0s"}, "solver.limits.run_steps": {"0"}, "solver.limits.run_usd": {"0"},
		"solver.limits.run_output_mib": {"0"}, "solver.limits.command_time": {"0s"},
		"solver.limits.solve_time": {"0s"}, "solver.limits.solve_usd": {"0"},
		"solver.tests.command": {`""`, `"a\nb"`}, "solver.tests.install": {`""`, `"a\nb"`}, // shell text
		"solver.tests.format": names, "solver.tests.report": names,
		"solver.tests.hosts":        {"[]", "[nonsense]"}, // a host of one word may be a mirror's
		"solver.tests.install_env":  {"{}"},
		"solver.tests.install_time": {"0s"}, "solver.tests.time": {"0s"},
		"solver.clone_depth":      {"0"},
		"solver.tests.cross_runs": {"0"}, "solver.tests.cross_time": {"0s"}, // none
		"solver.profiles":         {"{}"},
		"solver.repository.hosts": {"[]", "[nonsense]"}, // a host of one word may be a mirror's
		"solver.order":            {"[]"},
		"agent.max_format_errors": {"0"},
		"agent.keep_output":       {"0"},
		"models.models.members":   {"[]"},
		"models.models.apis":      {"[]"},
		"swe_agent.command":       {"[]"},
		"swe_agent.config":        names,
		"agents.commands":         {"[]"},
		"agents.commands.shell":   {`"a\nb"`}, "agents.commands.install": {`""`, `"a\nb"`}, // shell text
		"agents.commands.task":           names, // by a file
		"agents.commands.base_url_style": names, // by the API
		"agents.commands.env":            {"{}"},
		"agents.commands.hosts":          {"[]", "[nonsense]"}, // a host of one word may be a mirror's
		"agents.commands.command":        {"[nonsense]"},
		"sandbox.choices":                {"[]"},
		"github.app.client_id":           {`""`}, // nobody signs in
		"github.app.client_secret_env":   {`""`}, "github.app.client_secret_file": {`""`},
		"sandbox.fallback":            names, // none
		"sandbox.local.extra_ro":      {"[]"},
		"sandbox.local.toolchains":    {"[]"},
		"sandbox.local.allow_private": {"[]"},
		"sandbox.local.go_root":       names,
		"sandbox.local.free_disk_mib": {"0"},
		"sandbox.local.usd_per_hour":  {"0"},                                  // no price
		"sandbox.docker.host":         names, "sandbox.docker.runtime": names, // the engine's own
		"sandbox.docker.allow_private": {"[]"},
		"sandbox.docker.usd_per_hour":  {"0"},
		"sandbox.e2b.api_key_env":      names, "sandbox.e2b.api_key_file": names,
		"sandbox.e2b.api_url": names, "sandbox.e2b.sandbox_url": names, // by the domain
		"sandbox.e2b.usd_per_cpu_hour": {"0"}, "sandbox.e2b.usd_per_gib_hour": {"0"},
		"sandbox.prime.api_key_env": names, "sandbox.prime.api_key_file": names,
		"sandbox.prime.api_url": names, "sandbox.prime.team_id": names, "sandbox.prime.region": names, "sandbox.prime.image": names,
		"sandbox.prime.idle_time":         {"0s"}, // never
		"sandbox.prime.usd_per_core_hour": {"0"}, "sandbox.prime.usd_per_gb_hour": {"0"}, "sandbox.prime.usd_per_disk_gb_hour": {"0"},
	}
}

// TestEveryWrongValueIsRefused feeds every key of the configuration a wrong type,
// an empty value and values out of range. Each is refused with file, line, column
// and key, in words for people; or stands in byDesign, and is then accepted.
func TestEveryWrongValueIsRefused(t *testing.T) {
	t.Parallel()
	design := byDesign()
	leaves := leavesOf(reflect.TypeFor[server.Config](), "")
	if len(leaves) < 90 {
		t.Fatalf("only %d keys", len(leaves))
	}
	for _, l := range leaves {
		for _, value := range wrongTypes(l.typ) {
			refusedAt(t, l.key, value)
		}
		for _, value := range outOfRange(l.typ) {
			if !slices.Contains(design[l.key], value) {
				refusedAt(t, l.key, value)
				continue
			}
			text, _, _ := document(l.key, value)
			if _, err := server.Parse("c.yml", []byte(text), noEnv); err != nil {
				t.Errorf("%s: %s is refused, although it is right by design: %v", l.key, clip(value), err)
			}
		}
		delete(design, l.key)
	}
	for key := range design {
		t.Errorf("%s of the table byDesign is no key", key)
	}
}

// refusedAt wants a problem at the key, or at one of its elements.
func refusedAt(t *testing.T, key, value string) {
	t.Helper()
	text, where, line := document(key, value)
	_, err := server.Parse("c.yml", []byte(text), noEnv)
	var all *strictyaml.Error
	if !errors.As(err, &all) {
		t.Errorf("%s: %s: %v", key, clip(value), err)
		return
	}
	for _, p := range all.Problems {
		for _, bad := range []string{"strconv", "reflect", "unmarshal", "cannot parse", "%!", "\n", "\x1b", "\u202e", "  "} {
			if strings.Contains(p.String(), bad) {
				t.Errorf("%s: %s: the message is not for people (%q): %s", key, clip(value), bad, clip(p.String()))
			}
		}
		if len(p.String()) > 400 {
			t.Errorf("%s: %s: a message of %d bytes", key, clip(value), len(p.String()))
		}
	}
	i := slices.IndexFunc(all.Problems, func(p strictyaml.Problem) bool {
		return p.Key == where || strings.HasPrefix(p.Key, where+".")
	})
	if left, ok := map[string]string{"models.models []": "defaults.models.0", "solver.strategies {}": "defaults.strategies.0"}[key+" "+value]; ok {
		// An empty list of names is no fault by itself; what names one of them is.
		if !strings.Contains(err.Error(), left) || !strings.Contains(err.Error(), "built-in value") {
			t.Errorf("%s: %s: %v", key, value, err)
		}
		return
	}
	if i < 0 {
		t.Errorf("%s: %s is not refused: %v", key, clip(value), clip(err.Error()))
		return
	}
	p := all.Problems[i]
	if all.File != "c.yml" || p.Line != line || p.Column < 1 {
		t.Errorf("%s: %s: the place is %s:%d:%d, want line %d: %s", key, clip(value), all.File, p.Line, p.Column, line, p)
	}
	if len(p.Text) < 8 {
		t.Errorf("%s: %s: the message says nothing: %s", key, clip(value), p)
	}
}

func clip(s string) string { return fmt.Sprintf("%.120q", s) }

// TestEveryUnknownKeyIsRefused writes a key beside every key that does not exist,
// and misspells every key: the message names the right one.
func TestEveryUnknownKeyIsRefused(t *testing.T) {
	t.Parallel()
	for _, l := range leavesOf(reflect.TypeFor[server.Config](), "") {
		parent, name := "", l.key
		if i := strings.LastIndexByte(l.key, '.'); i >= 0 {
			parent, name = l.key[:i+1], l.key[i+1:]
		}
		if parent == "solver.strategies." {
			continue // names of the operator
		}
		for wrong, hint := range map[string]string{"zzzz": "unknown key", name + "z": "did you mean " + name + "?"} {
			text, where, line := document(parent+wrong, "5")
			_, err := server.Parse("c.yml", []byte(text), noEnv)
			var all *strictyaml.Error
			if !errors.As(err, &all) {
				t.Fatalf("%s%s: %v", parent, wrong, err)
			}
			i := slices.IndexFunc(all.Problems, func(p strictyaml.Problem) bool { return p.Key == where })
			if i < 0 || all.Problems[i].Line != line || !strings.Contains(all.Problems[i].Text, hint) {
				t.Errorf("%s%s at line %d (%s): %v", parent, wrong, line, hint, err)
			}
		}
	}
}
