package solve

import (
	"regexp"
	"strings"
	"unicode"
)

// CleanIssue is what an agent reads of an issue: title and body without what
// people do not see on GitHub, where instructions to the agent could hide.
// Removed are HTML comments (an unclosed one hides the rest), link definitions used as comments,
// control characters, and zero-width, bidirectional, tag and other invisible ones.
func CleanIssue(title, body string) string {
	title = strings.TrimSpace(OneLine(withoutComments(Visible(title))))
	body = strings.ReplaceAll(body, "\r\n", "\n")
	body = strings.Map(func(r rune) rune {
		switch {
		case r == '\u2028' || r == '\u2029' || r == '\r':
			return '\n'
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			return -1
		}
		return r
	}, Visible(body))
	body = strings.TrimSpace(withoutComments(body))
	if body == "" {
		return title
	}
	return strings.TrimSpace(title + "\n\n" + body)
}

// withoutComments repeats until nothing is left: removing a comment can close up another.
func withoutComments(s string) string {
	definition := regexp.MustCompile(`(?m)^[ \t]*\[[^\]\n]*\]:[ \t]*(?:#|<>)(?:[ \t][^\n]*)?$`)
	s = definition.ReplaceAllString(s, "")
	for {
		start := strings.Index(s, "<!--")
		if start < 0 {
			return s
		}
		end := strings.Index(s[start+4:], "-->")
		if end < 0 {
			return s[:start]
		}
		s = s[:start] + s[start+4+end+3:]
	}
}

// Visible drops the characters that have no shape of their own: zero-width and
// bidirectional signs, tags, variation selectors, fillers. Broken UTF-8 becomes U+FFFD.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func invisible(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x2800, r == 0x3164, r == 0xFFA0:
		return true
	case r >= 0xE0000 && r <= 0xE0FFF:
		return true
	case unicode.Is(unicode.Variation_Selector, r):
		return true
	default:
		return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
}
