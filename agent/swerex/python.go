package swerex

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// repr writes a text as Python shows it in messages.
func repr(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}

// reprCommand writes a command, text or list.
func reprCommand(c any) string {
	list, ok := c.([]any)
	if !ok {
		return repr(fmt.Sprint(c))
	}
	var parts []string
	for _, e := range list {
		parts = append(parts, repr(fmt.Sprint(e)))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// number writes a float as Python does, and None.
func number(f *float64) string {
	if f == nil {
		return "None"
	}
	text := strconv.FormatFloat(*f, 'g', -1, 64)
	if *f == math.Trunc(*f) && math.Abs(*f) < 1e16 {
		text = strconv.FormatFloat(*f, 'f', 1, 64)
	}
	return text
}

// escaped is UTF-8 whose invalid bytes are written as \xNN.
func escaped(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&out, `\x%02x`, b[0])
		} else {
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.String()
}

// controls are the sequences that colour and move.
var controls = regexp.MustCompile(`\x1B[@-_][0-?]*[ -/]*[@-~]`)

// shown is the output of a shell's command as the original hands it out.
func shown(b []byte) string { return controls.ReplaceAllString(escaped(b), "") }

// decodeText reads a file's bytes in an encoding, and makes all line ends \n.
func decodeText(b []byte, encoding, errors *string) (string, error) {
	name := "utf-8"
	if encoding != nil {
		name = strings.ReplaceAll(strings.ToLower(*encoding), "_", "-")
	}
	text := ""
	switch name {
	case "utf-8", "utf8", "u8":
		var err error
		if text, err = decodeUTF8(b, errors); err != nil {
			return "", err
		}
	case "latin-1", "latin1", "iso-8859-1", "iso8859-1", "l1":
		runes := make([]rune, len(b))
		for i, c := range b {
			runes[i] = rune(c)
		}
		text = string(runes)
	default:
		return "", raise(classLookup, "unknown encoding: "+*encoding)
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), nil
}

// decodeUTF8 handles what is no UTF-8 as the name of the handler says.
func decodeUTF8(b []byte, errors *string) (string, error) {
	handler := "strict"
	if errors != nil {
		handler = *errors
	}
	switch {
	case handler == "backslashreplace":
		return escaped(b), nil
	case handler == "replace":
		return strings.ToValidUTF8(string(b), "\uFFFD"), nil
	case handler == "ignore":
		return strings.ToValidUTF8(string(b), ""), nil
	case handler != "strict":
		return "", raise(classLookup, "unknown error handler name "+repr(handler))
	case !utf8.Valid(b):
		return "", raise(classDecode, "'utf-8' codec can't decode the file: invalid bytes")
	}
	return string(b), nil
}
