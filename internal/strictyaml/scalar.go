package strictyaml

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"
)

// Bounds that hold for every key; many have narrower ones of their own.
const (
	maxText     = 4 << 10  // bytes of a text on one line
	maxLines    = 64 << 10 // bytes of a text that may have several
	maxDuration = 10 * 365 * 24 * time.Hour
	maxNumber   = math.MaxInt32
)

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

// badText says what is wrong with a text, "" if nothing. Only prompts and shell
// commands may have several lines. Invisible characters are refused: they can hide
// another value.
func badText(s string, lines bool) string {
	most := maxText
	if lines {
		most = maxLines
	}
	switch {
	case len(s) > most:
		return fmt.Sprintf("has %d bytes; %d are the most", len(s), most)
	case s != "" && strings.TrimSpace(s) == "":
		return "is blank"
	case !lines && strings.ContainsAny(s, "\r\n"):
		return "must be one line"
	}
	for _, r := range s {
		if unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) || hides(r) {
			return fmt.Sprintf("holds the character U+%04X, which cannot be seen; remove it", r)
		}
	}
	return ""
}

// hides says whether a character changes how others are shown, or has no shape itself.
func hides(r rune) bool {
	return r == '\u2028' || r == '\u2029' || r == '\uFEFF' || unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u00ad'
}
