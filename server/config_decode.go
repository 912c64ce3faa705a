package server

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/yudai-dev/yudai/solve"
)

// decoder fills a struct from a YAML file, key by key, and reports every key that
// the struct does not have and every value that does not fit, instead of the first.
// What is not in the file keeps its value; lists and maps replace theirs.
type decoder struct{ *problems }

// document decodes the one document of a file.
func (d decoder) document(data []byte, into reflect.Value) {
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) {
			d.add(placeOf(at.GetToken()), "", "not YAML: "+at.GetMessage())
			return
		}
		d.add(place{}, "", "not YAML: "+err.Error())
		return
	}
	for i, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if i > 0 {
			d.add(placeOf(doc.Body.GetToken()), "", "a second document: the configuration is one")
			return
		}
		d.value("", doc.Body, into)
	}
}

// value decodes one node into v.
func (d decoder) value(path string, node ast.Node, v reflect.Value) {
	at := placeOf(node.GetToken())
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.add(at, path, "anchors, aliases and tags are not read here: write the value out")
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
			d.add(at, path, "must be "+wanted)
			return
		}
		if v.Kind() == reflect.String {
			if problem := badText(path, v.String()); problem != "" {
				d.add(at, path, problem)
				v.SetString("")
			}
		}
	}
}

// fields decodes a mapping into a struct. A section without any key keeps its defaults.
func (d decoder) fields(path string, node ast.Node, v reflect.Value) {
	if node.Type() == ast.NullType {
		return
	}
	known := map[string]reflect.Value{}
	names := fieldsOf(v, known)
	d.entries(path, node, "keys and values", func(key string, at place, value ast.Node) {
		field, ok := known[key]
		if !ok {
			text := "unknown key"
			if near := solve.Nearest(key, names); near != "" {
				text += "; did you mean " + near + "?"
			}
			d.add(at, join(path, key), text)
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

// entries calls each for every key of a mapping, and reports what is no plain or
// no new key.
func (d decoder) entries(path string, node ast.Node, wanted string, each func(key string, at place, value ast.Node)) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.add(placeOf(node.GetToken()), path, "must be "+wanted)
		return
	}
	seen := map[string]bool{}
	for _, entry := range values {
		at := placeOf(entry.Key.GetToken())
		scalar, ok := entry.Key.(ast.ScalarNode)
		if !ok || entry.Key.IsMergeKey() {
			d.add(at, path, "not a plain key")
			continue
		}
		key := scalar.GetToken().Value
		if seen[key] {
			d.add(at, join(path, key), "is given twice")
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
		d.add(placeOf(node.GetToken()), path, "must be a list, like [a, b]")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		key := join(path, strconv.Itoa(i))
		d.at[key] = placeOf(item.GetToken())
		if item.Type() == ast.NullType {
			d.add(d.at[key], key, "is empty")
			continue
		}
		d.value(key, item, out.Index(i))
	}
	v.Set(out)
}

func (d decoder) table(path string, node ast.Node, v reflect.Value) {
	out := reflect.MakeMap(v.Type())
	d.entries(path, node, "names and values, or {}", func(key string, at place, value ast.Node) {
		if problem := badText(path, key); problem != "" {
			d.add(at, path, "a name "+problem)
			return
		}
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(join(path, key), value, item)
		out.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), item)
	})
	v.Set(out)
}

// scalar sets v from a node and returns "", or says what the value must be.
func scalar(node ast.Node, v reflect.Value) (wanted string) {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		return duration(node, v)
	}
	switch v.Kind() {
	case reflect.String:
		return text(node, v)
	case reflect.Bool:
		b, ok := node.(*ast.BoolNode)
		if !ok {
			return "true or false"
		}
		v.SetBool(b.Value)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, ok := node.(*ast.IntegerNode)
		if !ok {
			return "a whole number"
		}
		i, ok := n.Value.(int64)
		if u, unsigned := n.Value.(uint64); unsigned {
			i, ok = int64(u), u < 1<<63 //nolint:gosec // bounded beside it
		}
		if !ok || i > maxNumber || i < -maxNumber {
			return fmt.Sprintf("a number of at most %d", maxNumber)
		}
		v.SetInt(i)
	case reflect.Float64:
		switch n := node.(type) {
		case *ast.FloatNode:
			v.SetFloat(n.Value)
		case *ast.IntegerNode:
			f, err := strconv.ParseFloat(fmt.Sprint(n.Value), 64)
			if err != nil {
				return "a number"
			}
			v.SetFloat(f)
		default:
			return "a number"
		}
	default:
		return "a value that this version can read"
	}
	return ""
}

func text(node ast.Node, v reflect.Value) (wanted string) {
	switch n := node.(type) {
	case *ast.StringNode:
		v.SetString(n.Value)
	case *ast.LiteralNode:
		v.SetString(n.Value.Value)
	case *ast.NullNode:
		return `text; write "" for none`
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
		return "text"
	default:
		return "text: put it in quotes"
	}
	return ""
}

func duration(node ast.Node, v reflect.Value) (wanted string) {
	const unit = "a time with its unit, like 90s, 20m or 1h30m"
	if n, ok := node.(*ast.IntegerNode); ok && fmt.Sprint(n.Value) == "0" {
		v.SetInt(0)
		return ""
	}
	n, ok := node.(*ast.StringNode)
	if !ok {
		return unit
	}
	t, err := time.ParseDuration(n.Value)
	if err != nil {
		return unit
	}
	if t > maxDuration {
		return fmt.Sprintf("at most %.0fh", maxDuration.Hours())
	}
	v.SetInt(int64(t))
	return ""
}
