package solve

import (
	"strings"
	"unicode"
)

// maxName is how many bytes the name of a model or a strategy may have.
const maxName = 100

// BadName says what is wrong with the name of a model or a strategy, "" if nothing.
// People write such names in commands, with commas between them, and read them in tables.
func BadName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is empty"
	case len(name) > maxName:
		return "is longer than 100 bytes"
	case strings.TrimSpace(name) != name:
		return "has a blank at its beginning or end"
	case strings.ContainsAny(name, ",\"“”„‟″") ||
		strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || invisible(r) }):
		return "has a comma, a quote, or a character that cannot be seen; people could not write it in a command"
	}
	return ""
}

// VariableName says whether s can name an environment variable.
func VariableName(s string) bool {
	letters := strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
	return s != "" && len(s) <= 200 && letters && (s[0] < '0' || s[0] > '9')
}

// HostName says whether s can be an entry of an allow-list: a host's name, or *.NAME.
func HostName(s string) bool {
	s = strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(s), "*."), ".")
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}
