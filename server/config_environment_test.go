package server_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/internal/strictyaml"
	"github.com/yudai-dev/yudai/server"
)

// variableKeys are the keys that a variable sets: all but those of entries of lists.
func variableKeys() (keys []leaf) {
	entries := ""
	for _, l := range leavesOf(reflect.TypeFor[server.Config](), "") {
		if entries != "" && strings.HasPrefix(l.key, entries) {
			continue
		}
		if l.typ.Kind() == reflect.Slice && l.typ.Elem().Kind() == reflect.Struct {
			entries = l.key + "."
		}
		keys = append(keys, l)
	}
	return keys
}

// one is an environment with one variable.
func one(name, value string) func(string) string {
	return func(asked string) string {
		if asked == name {
			return value
		}
		return ""
	}
}

// fieldAt finds a key's value in a configuration.
func fieldAt(v reflect.Value, key string) (found reflect.Value) {
	name, rest, deeper := strings.Cut(key, ".")
	for i := range v.NumField() {
		tag, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case option == "inline":
			if found = fieldAt(v.Field(i), key); found.IsValid() {
				return found
			}
		case tag == name && deeper:
			return fieldAt(v.Field(i), rest)
		case tag == name:
			return v.Field(i)
		}
	}
	return found
}

// other is a text that changes a key of the type, with the value that it has then; nil is any but the default.
func other(l leaf, now reflect.Value) (text string, want any) {
	switch {
	case l.typ == reflect.TypeFor[time.Duration]():
		return "7h3m", 7*time.Hour + 3*time.Minute
	case l.typ.Kind() == reflect.String:
		return "50: #changed", reflect.ValueOf("50: #changed").Convert(l.typ).Interface()
	case l.typ.Kind() == reflect.Bool && now.Bool():
		return "false", false
	case l.typ.Kind() == reflect.Bool:
		return "true", true
	case l.typ.Kind() == reflect.Float64:
		return "4321.5", 4321.5
	case l.typ.Kind() == reflect.Int, l.typ.Kind() == reflect.Int64:
		return "4321", reflect.ValueOf(4321).Convert(l.typ).Interface()
	case l.typ.Kind() == reflect.Map && l.typ.Elem().Kind() == reflect.Struct:
		return "{changed: {}}", nil
	case l.typ.Kind() == reflect.Map:
		return "{changed: yes}", nil
	case l.typ.Elem().Kind() == reflect.Struct:
		return "[{}, {}, {}, {}, {}, {}, {}]", nil
	case l.typ.Elem().Kind() == reflect.String:
		return "[changed]", nil
	default:
		return "[4321]", nil
	}
}

// TestEveryKeyHasAVariable: each key takes its value from a variable of its own, and of a wrong value the problem
// names the variable.
func TestEveryKeyHasAVariable(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, l := range variableKeys() {
		name := strictyaml.Variable(server.VariablePrefix, l.key)
		if first, twice := seen[name]; twice {
			t.Errorf("%s is the variable of %s and of %s", name, first, l.key)
		}
		seen[name] = l.key
		before := fieldAt(reflect.ValueOf(server.Default()), l.key)
		text, want := other(l, before)
		cfg, _ := server.Parse("c.yml", nil, one(name, text)) // the value may not fit others
		got := fieldAt(reflect.ValueOf(cfg), l.key)
		if want != nil && !cmp.Equal(got.Interface(), want) || want == nil && reflect.DeepEqual(got.Interface(), before.Interface()) {
			t.Errorf("%s=%s: %s is %v, want %v", name, text, l.key, got, want)
		}
		wrong := "a\u200bb"
		if l.typ.Kind() != reflect.String {
			wrong = "&a x"
		}
		for _, value := range []string{wrong, " \t", "#"} {
			if l.typ.Kind() == reflect.String && value == "#" {
				continue // a text like any other
			}
			_, err := server.Parse("c.yml", nil, one(name, value))
			if err == nil || !strings.HasPrefix(err.Error(), name+": "+l.key) {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
	}
	if len(seen) < 150 || seen["YUDAI_SERVER_ADDRESS"] != "server.address" || seen["YUDAI_MODELS_MODELS"] != "models.models" {
		t.Errorf("%d variables: %v", len(seen), seen)
	}
}

// TestVariableReplacesAList: problems of what the file had there are gone, and those of the new entries name the variable.
func TestVariableReplacesAList(t *testing.T) {
	t.Parallel()
	const file = "models:\n  models:\n    - {name: a, provider: openai, max_tokens: -1}\n"
	cfg, err := server.Parse("c.yml", []byte(file), one("YUDAI_MODELS_MODELS", "- name: b\n  provider: openai\n"))
	if err != nil || len(cfg.Models.Models) != 1 || cfg.Models.Models[0].Name != "b" || !cmp.Equal(cfg.Solver.Defaults.Models, []string{"b"}) {
		t.Errorf("%+v, default %v, %v", cfg.Models.Models, cfg.Solver.Defaults.Models, err)
	}
	_, err = server.Parse("c.yml", []byte(file), one("YUDAI_MODELS_MODELS", "[{name: b, provider: openai, max_tokens: -1}]"))
	if err == nil || !strings.HasPrefix(err.Error(), "YUDAI_MODELS_MODELS: models.models.0.max_tokens: must") || strings.Contains(err.Error(), "built-in") {
		t.Errorf("err = %v", err)
	}
}
