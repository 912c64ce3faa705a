package judge

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// language says what is a comment, a literal or meaningful white space in a source text.
type language struct {
	lineMarks []string  // begin a comment that the line ends
	block     [2]string // begin and end other comments
	nested    bool      // which may hold more of the kind
	quotes    []quote   // the longest first

	newlines bool // the end of a line counts
	spaces   bool // any space counts as one
	indent   bool // white space at the start of a line counts, and a line goes on in brackets
	joins    bool // a line goes on after a backslash

	careful bool // what looks like a comment may be a part of something else
	wary    bool // unless a line begins with it
	jsx     bool // texts may stand between tags; then the language is wary
	regex   bool // a slash may begin a pattern

	directives  bool           // C: lines that begin with #
	digitQuotes bool           // C++: 1'000
	lifetimes   bool           // Rust: 'a beside 'c', and r#"..."#
	examples    bool           // Rust: doc comments hold tests
	docs        bool           // Python: docstrings
	giveUp      *regexp.Regexp // forms that this file does not know
}

// quote is a kind of string.
type quote struct {
	open, close string
	raw         bool   // a backslash is one
	lines       bool   // it goes on in the next line
	hole        string // begins code within it, which a brace ends
}

var (
	double   = quote{open: `"`, close: `"`}
	single   = quote{open: `'`, close: `'`}
	slashes  = []string{"//"}
	hash     = []string{"#"}
	starred  = [2]string{"/*", "*/"}
	template = quote{open: "`", close: "`", lines: true, hole: "${"}
)

// languages are those in which comments are told from code, by the ends of files' names. Go has
// a scanner of its own.
var languages = []struct {
	extensions string
	language
}{
	{".js .mjs .cjs .jsx .ts .mts .cts .tsx", language{
		lineMarks: slashes, block: starred, quotes: []quote{double, single, template},
		newlines: true, careful: true, jsx: true, regex: true,
	}},
	{".java", language{
		lineMarks: slashes, block: starred, quotes: []quote{{open: `"""`, close: `"""`, lines: true}, double, single},
		giveUp: regexp.MustCompile(`\\u+00[0-7]`),
	}},
	{".kt .kts", language{
		lineMarks: slashes, block: starred, nested: true, newlines: true,
		quotes: []quote{{open: `"""`, close: `"""`, raw: true, lines: true, hole: "${"}, {open: `"`, close: `"`, hole: "${"}, single},
	}},
	{".rs", language{
		lineMarks: slashes, block: starred, nested: true, quotes: []quote{{open: `"`, close: `"`, lines: true}},
		lifetimes: true, examples: true,
	}},
	{".c .h .cc .cpp .cxx .hh .hpp .hxx", language{
		lineMarks: slashes, block: starred, quotes: []quote{double, single}, joins: true, directives: true, digitQuotes: true,
		giveUp: regexp.MustCompile(`R"|\?\?/|//[^\n]*\\\s*\n`),
	}},
	{".py .pyi", language{
		lineMarks: hash, newlines: true, indent: true, joins: true, docs: true,
		quotes: []quote{{open: `"""`, close: `"""`, lines: true}, {open: `'''`, close: `'''`, lines: true}, double, single},
	}},
	{".rb .rake .gemspec", language{
		lineMarks: hash, newlines: true, spaces: true, careful: true, wary: true, regex: true, quotes: []quote{
			{open: `"`, close: `"`, lines: true}, {open: `'`, close: `'`, lines: true}, {open: "`", close: "`", lines: true},
		},
		giveUp: regexp.MustCompile("(?m)^=begin|^__END__|<<[-~\"'`A-Za-z_]|%[wWqQiIrxs]?[^\\w\\s=]|\\?[\"'`#]"),
	}},
	{".sh .bash", language{
		lineMarks: hash, newlines: true, spaces: true, careful: true, wary: true,
		quotes: []quote{{open: `"`, close: `"`, lines: true}, {open: `'`, close: `'`, raw: true, lines: true}},
		giveUp: regexp.MustCompile("<<|`|\\$'"),
	}},
	{".css", language{block: starred, spaces: true, careful: true, quotes: []quote{double, single}}},
	{".scss .less", language{
		lineMarks: slashes, block: starred, newlines: true, spaces: true, careful: true, quotes: []quote{double, single},
	}},
}

// languageOf is the language of a file by its name.
func languageOf(p string) (language, bool) {
	for _, l := range languages {
		if slices.Contains(strings.Fields(l.extensions), strings.ToLower(path.Ext(p))) {
			return l.language, true
		}
	}
	return language{}, false
}

// literal keeps a string or a character as it is, and reports whether there is one.
func (s *stripper) literal(rest string) bool {
	end := s.prefixed(rest, 0)
	if end == 0 && s.lifetimes && rest[0] == '\'' {
		end = rustCharacter(rest)
	}
	if end <= 0 {
		return end < 0
	}
	s.literalOf("", rest[:end])
	return true
}

// prefixed is where the string ends that begins after n bytes of a prefix, 0 if there is none.
func (s *stripper) prefixed(rest string, n int) int {
	prefix, body := strings.ToLower(rest[:n]), rest[n:]
	if s.lifetimes && strings.HasSuffix(prefix, "r") {
		if hashes := len(body) - len(strings.TrimLeft(body, "#")); strings.HasPrefix(body[hashes:], `"`) {
			return s.closed(quote{open: body[:hashes+1], close: `"` + body[:hashes], raw: true, lines: true}, rest, n)
		}
	}
	for _, q := range s.quotes {
		if !strings.HasPrefix(body, q.open) {
			continue
		}
		if s.docs && strings.ContainsAny(prefix, "ft") && n <= 2 {
			q.hole = "{"
		}
		return s.closed(q, rest, n)
	}
	return 0
}

// closed is where a string ends. One that is not closed ends with its line, or gives up.
func (s *stripper) closed(q quote, rest string, n int) int {
	end := s.closing(q, rest, n+len(q.open), 0)
	if end < 0 {
		s.lost = true
	}
	return end
}

// maxHoles bounds how deep strings may stand in the code of strings.
const maxHoles = 20

// closing is where a string ends whose content begins at i, -1 if that is not found.
func (s *stripper) closing(q quote, text string, i, depth int) int {
	for i >= 0 && i < len(text) && depth < maxHoles {
		switch rest := text[i:]; {
		case rest[0] == '\\' && !q.raw:
			i += 2
		case strings.HasPrefix(rest, q.close):
			return i + len(q.close)
		case q.hole == "{" && strings.HasPrefix(rest, "{{"):
			i += 2
		case q.hole != "" && strings.HasPrefix(rest, q.hole):
			i = s.holeEnd(text, i+len(q.hole), depth+1)
		case rest[0] == '\n' && !q.lines:
			return i
		default:
			i++
		}
	}
	return -1
}

// holeEnd is where the code in a string ends.
func (s *stripper) holeEnd(text string, i, depth int) int {
	for open := 1; i >= 0 && i < len(text) && depth < maxHoles; {
		switch text[i] {
		case '{':
			open++
			i++
		case '}':
			i++
			if open--; open == 0 {
				return i
			}
		default:
			i = s.past(text, i, depth)
		}
	}
	return -1
}

// past is what follows the string or the byte at i.
func (s *stripper) past(text string, i, depth int) int {
	for _, q := range s.quotes {
		if strings.HasPrefix(text[i:], q.open) {
			return s.closing(q, text, i+len(q.open), depth)
		}
	}
	return i + 1
}

// rustCharacter is where a character literal ends, 0 if the quote begins a lifetime.
func rustCharacter(rest string) int {
	if strings.HasPrefix(rest, `'\`) {
		if i := strings.IndexByte(rest[min(3, len(rest)):min(15, len(rest))], '\''); i >= 0 {
			return i + 4
		}
		return 0
	}
	for i := range rest {
		if i > 1 {
			if rest[i] == '\'' {
				return i + 1
			}
			return 0
		}
	}
	return 0
}

// literalOf writes a string with its prefix; of a Python docstring only its examples.
func (s *stripper) literalOf(prefix, text string) {
	if s.docs && s.newline && s.brackets == 0 && !strings.ContainsAny(prefix, "bBfFtT") && s.endsStatement(len(text)) {
		end := s.pos + len(text)
		if examples := doctests(text); examples != "" {
			s.emit(examples)
		}
		s.pos = end
	} else {
		s.emit(text)
	}
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		s.line = s.pos - len(text) + i + 1
	}
}

// endsStatement reports whether the statement ends n bytes after pos.
func (s *stripper) endsStatement(n int) bool {
	rest := strings.TrimLeft(s.src[s.pos+n:], " \t\r")
	return rest == "" || rest[0] == '\n' || rest[0] == '#'
}
