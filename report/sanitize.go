package report

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/solve"
)

// zwsp separates a sign that GitHub acts on from the letters behind it: people do not
// see it, and it turns a mention into text.
const zwsp = "\u200b"

// Sanitize makes a foreign text safe for Markdown that we publish: one line in
// which nothing is a mention, an issue reference, a
// closing keyword's target, a link, an image, HTML, code, a heading or a table.
// People read the same words as in the source.
func Sanitize(s string) string {
	s = solve.OneLine(s)
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for i, r := range s {
		rest := s[i+utf8.RuneLen(r):]
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '@':
			b.WriteString("@" + apart(rest, isName))
		case r == '#':
			b.WriteString(`\#` + apart(rest, isDigit))
		case strings.ContainsRune("\\`*_[]!|~$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == ':' && strings.HasPrefix(rest, "//"):
			b.WriteString(":" + zwsp)
		case r == '-' && endsGH(s[:i]):
			b.WriteString("-" + apart(rest, isDigit))
		case r == '.' && endsWWW(s[:i]):
			b.WriteString(`\.` + apart(rest, isName))
		case (r == '.' || r == ')') && onlyDigits(s[:i]):
			b.WriteString(`\` + string(r))
		case i == 0 && strings.ContainsRune("-+=/", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// apart is [zwsp] where what follows would make a sign act, else nothing: ordinary words hold no
// character that a search or a copy would stumble over.
func apart(rest string, acts func(rune) bool) string {
	if next, size := utf8.DecodeRuneInString(rest); size > 0 && acts(next) {
		return zwsp
	}
	return ""
}

func isName(r rune) bool  { return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) }
func isDigit(r rune) bool { return unicode.IsDigit(r) }

// endsGH says whether the text so far ends with GH, as in the reference GH-12.
func endsGH(s string) bool { return len(s) >= 2 && strings.EqualFold(s[len(s)-2:], "gh") }

// endsWWW says whether the text so far ends with www, which GitHub links without a scheme.
func endsWWW(s string) bool { return len(s) >= 3 && strings.EqualFold(s[len(s)-3:], "www") }

func onlyDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// codeSpan is a foreign text as a code span, in which GitHub acts on nothing. The
// text is cut at 200 characters. In a table it has to be a [codeCell].
func codeSpan(s string) string {
	s = solve.Clip(solve.OneLine(s), 200)
	if s == "" {
		return "—"
	}
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		return ticks + " " + s + " " + ticks
	}
	return ticks + s + ticks
}

// codeCell is a code span for a table, where a bare stroke would end the cell even inside the span.
func codeCell(s string) string { return cell(codeSpan(s)) }

// cell keeps Markdown's strokes from ending a table's cell.
func cell(markdown string) string { return strings.ReplaceAll(markdown, "|", `\|`) }

// fence is a foreign text as a fenced block, with a fence longer than any
// inside, without characters that people cannot see, and without a line that is a command of ours.
func fence(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, solve.Visible(text))
	text = strings.Trim(strings.ReplaceAll("\n"+text, "\n/yudai", "\n /yudai"), "\n")
	mark := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return mark + "text\n" + text + "\n" + mark
}

func longestRun(s string, of rune) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// plainLine makes a foreign text one line for places that are no Markdown: titles,
// commit messages. What GitHub would act on loses its sign: mentions, issue
// numbers, addresses.
func plainLine(s string) string {
	s = solve.OneLine(s)
	s = webScheme().ReplaceAllString(s, "")
	s = ghReference().ReplaceAllString(s, "$1 $2")
	return strings.Join(strings.Fields(strings.NewReplacer("@", "", "#", "").Replace(s)), " ")
}

func webScheme() *regexp.Regexp   { return regexp.MustCompile(`(?i)(?:[a-z][a-z0-9+.-]*:)?//`) }
func ghReference() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(gh)-(\d)`) }
