package handlers

import (
	"strings"
	"unicode"
)

// smartQuotes are what keyboards and editors make of a double quote.
const smartQuotes = "“”„‟″"

// words splits a command line at blanks. Double quotes, straight or smart, keep
// blanks together and are removed; a backslash inside them keeps the next quote or
// backslash. ok is false if a quote is never closed.
func words(line string) (list []string, ok bool) {
	var word strings.Builder
	started, quoted, escaped := false, false, false
	for _, r := range line {
		switch {
		case escaped:
			if r != '\\' && !isQuote(r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case isQuote(r):
			quoted, started = !quoted, true
		case !quoted && unicode.IsSpace(r):
			if started {
				list = append(list, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteRune(r)
			started = true
		}
	}
	if started {
		list = append(list, word.String())
	}
	return list, !quoted
}

func isQuote(r rune) bool { return r == '"' || strings.ContainsRune(smartQuotes, r) }

// argument is one key=value of a command line.
type argument struct{ key, value string }

// arguments reads words as key=value. A value that ends with a comma goes on in the
// next word, as in "models=a, b"; a branch name may end with one.
func arguments(list []string) []argument {
	var out []argument
	for _, w := range list {
		key, value, isPair := strings.Cut(w, "=")
		last := len(out) - 1
		if !isPair && last >= 0 && out[last].key != "base" && strings.HasSuffix(out[last].value, ",") {
			out[last].value += w
			continue
		}
		out = append(out, argument{key: strings.ToLower(key), value: value})
	}
	return out
}

// elements splits a value at its commas and trims each part.
func elements(value string) []string {
	list := strings.Split(value, ",")
	for i, e := range list {
		list[i] = strings.TrimSpace(e)
	}
	return list
}
