package strictyaml

import (
	"maps"
	"reflect"
	"strings"
)

// Variable is the name of the variable that sets a key: the prefix and the dotted key in capitals, with _ for
// each dot.
func Variable(prefix, key string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// Environment lays variables of the environment over the struct that into points to, after [Decode]: one for each
// key, named by [Variable]. A text is taken as it is. Anything else is written as in the file; a list or a table
// is replaced as a whole. A variable that is empty or not set changes nothing. Problems name the variable.
func (p *Problems) Environment(into any, prefix string, getenv func(string) string, several func(path string) bool) {
	EachKey(into, func(key string, v reflect.Value) {
		variable := Variable(prefix, key)
		text := getenv(variable)
		if text == "" {
			return
		}
		d := decoder{&Problems{at: map[string]Place{key: {}}}, several}
		switch {
		case v.Kind() == reflect.String:
			v.SetString(text)
			d.checkText(Place{}, key, v)
		case !d.document(key, []byte(text), v):
			d.Add(Place{}, key, "is blank")
		}
		maps.DeleteFunc(p.at, func(below string, _ Place) bool { return strings.HasPrefix(below, key+".") })
		for below := range d.at {
			p.Override(below, variable)
		}
		for _, problem := range d.found {
			p.Add(Place{Variable: variable}, problem.Key, problem.Text)
		}
	})
}

// EachKey calls do for every key of the struct that of points to that is no section, in order.
func EachKey(of any, do func(key string, v reflect.Value)) {
	eachKey("", reflect.ValueOf(of).Elem(), do)
}

func eachKey(path string, v reflect.Value, do func(key string, v reflect.Value)) {
	fields := map[string]reflect.Value{}
	for _, name := range fieldsOf(v, fields) {
		if field := fields[name]; field.Kind() == reflect.Struct {
			eachKey(join(path, name), field, do)
		} else {
			do(join(path, name), field)
		}
	}
}
