// Package strictyaml reads YAML that people write by hand into structs. It reports all
// problems at once, with line and column: unknown keys with the nearest known one,
// keys given twice, values that do not fit. Anchors, aliases, tags and second
// documents are errors.
package strictyaml

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/yudai-dev/yudai/internal/spelling"
)

// maxDepth is how many brackets may be open at a time: the time to parse them grows
// with the square of their number.
const maxDepth = 100

// Decode fills the struct that into points to from a YAML file, key by key. Keys that
// the file does not have keep their values; lists and maps are replaced. several says
// which keys may have text of several lines. Decode never panics.
func Decode(data []byte, into any, several func(path string) bool) *Problems {
	d := decoder{&Problems{at: map[string]Place{}}, several}
	d.document("", data, reflect.ValueOf(into).Elem())
	return d.Problems
}

type decoder struct {
	*Problems
	several func(path string) bool
}

// document decodes the one document of a file, which is the value of the key path. It tells whether there is one.
func (d decoder) document(path string, data []byte, into reflect.Value) (found bool) {
	if at, deep := tooDeep(data); deep {
		d.Add(at, path, fmt.Sprintf("more than %d brackets are open here", maxDepth))
		return true
	}
	file, err := parse(data)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) {
			d.Add(placeOf(at.GetToken()), path, "not YAML: "+at.GetMessage())
			return true
		}
		d.Add(Place{}, path, "not YAML: "+err.Error())
		return true
	}
	for i, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if i > 0 {
			d.Add(placeOf(doc.Body.GetToken()), path, "a second document: write everything in one")
			return true
		}
		found = doc.Body.Type() != ast.CommentType
		d.value(path, doc.Body, into)
	}
	return found
}

// parse turns a panic of the parser into an error: foreign bytes have caused some.
func parse(data []byte) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it cannot be read")
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// tooDeep finds the bracket that opens one level too many. It also counts brackets in texts.
func tooDeep(data []byte) (at Place, deep bool) {
	open := 0
	at = Place{Line: 1}
	for _, c := range data {
		at.Column++
		switch c {
		case '\n':
			at.Line, at.Column = at.Line+1, 0
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		}
		if open > maxDepth {
			return at, true
		}
	}
	return at, false
}

// value decodes one node into v.
func (d decoder) value(path string, node ast.Node, v reflect.Value) {
	at := placeOf(node.GetToken())
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.Add(at, path, "anchors, aliases and tags are not read here: write the value out")
		return
	case *ast.CommentGroupNode:
		return // an empty document
	}
	switch v.Kind() {
	case reflect.Struct:
		d.fields(path, node, v)
	case reflect.Slice:
		d.list(path, node, v)
	case reflect.Map:
		d.table(path, node, v)
	case reflect.Pointer:
		if node.Type() == ast.NullType {
			v.SetZero()
			return
		}
		p := reflect.New(v.Type().Elem())
		d.value(path, node, p.Elem())
		v.Set(p)
	default:
		wanted := scalar(node, v)
		if wanted != "" {
			d.Add(at, path, "must be "+wanted)
			return
		}
		if v.Kind() == reflect.String {
			d.checkText(at, path, v)
		}
	}
}

func (d decoder) checkText(at Place, path string, v reflect.Value) {
	if problem := badText(v.String(), d.several(path)); problem != "" {
		d.Add(at, path, problem)
		v.SetString("")
	}
}

// fields decodes a mapping into a struct. A section without any key keeps its defaults.
func (d decoder) fields(path string, node ast.Node, v reflect.Value) {
	if node.Type() == ast.NullType {
		return
	}
	known := map[string]reflect.Value{}
	names := fieldsOf(v, known)
	d.entries(path, node, "keys and values", func(key string, at Place, value ast.Node) {
		field, ok := known[key]
		if !ok {
			text := "unknown key"
			if near := spelling.Nearest(key, names); near != "" {
				text += "; did you mean " + near + "?"
			}
			d.Add(at, join(path, key), text)
			return
		}
		d.value(join(path, key), value, field)
	})
}

// fieldsOf collects the fields of a struct by their YAML names, in order.
func fieldsOf(v reflect.Value, into map[string]reflect.Value) (names []string) {
	for i := range v.NumField() {
		name, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case option == "inline":
			names = append(names, fieldsOf(v.Field(i), into)...)
		case name != "" && name != "-":
			into[name] = v.Field(i)
			names = append(names, name)
		}
	}
	return names
}

// entries calls each for every key of a mapping. It reports keys that are not plain or
// that come twice.
func (d decoder) entries(path string, node ast.Node, wanted string, each func(key string, at Place, value ast.Node)) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.Add(placeOf(node.GetToken()), path, "must be "+wanted)
		return
	}
	seen := map[string]bool{}
	for _, entry := range values {
		at := placeOf(entry.Key.GetToken())
		scalar, ok := entry.Key.(ast.ScalarNode)
		if !ok || entry.Key.IsMergeKey() {
			d.Add(at, path, "not a plain key")
			continue
		}
		key := scalar.GetToken().Value
		if seen[key] {
			d.Add(at, join(path, key), "is given twice")
			continue
		}
		seen[key] = true
		d.at[join(path, key)] = placeOf(entry.Value.GetToken())
		if entry.Value.Type() == ast.NullType || entry.Value.Type() == ast.MappingType || entry.Value.Type() == ast.SequenceType {
			d.at[join(path, key)] = at // these have no text of their own to point at
		}
		each(key, at, entry.Value)
	}
}

func (d decoder) list(path string, node ast.Node, v reflect.Value) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		d.Add(placeOf(node.GetToken()), path, "must be a list, like [a, b]")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		key := join(path, strconv.Itoa(i))
		d.at[key] = placeOf(item.GetToken())
		if item.Type() == ast.NullType {
			d.Add(d.at[key], key, "is empty")
			continue
		}
		d.value(key, item, out.Index(i))
	}
	v.Set(out)
}

func (d decoder) table(path string, node ast.Node, v reflect.Value) {
	out := reflect.MakeMap(v.Type())
	d.entries(path, node, "names and values, or {}", func(key string, at Place, value ast.Node) {
		if problem := badText(key, false); problem != "" {
			d.Add(at, path, "a name "+problem)
			return
		}
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(join(path, key), value, item)
		out.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), item)
	})
	v.Set(out)
}
