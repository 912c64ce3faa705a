package solve_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/solve"
)

func TestNeutralise(t *testing.T) {
	t.Parallel()
	const z = "\u200b"
	for in, want := range map[string]string{
		"plain words, (brackets) and-dashes.": "plain words, (brackets) and-dashes.",
		"@octocat":                            "@" + z + "octocat",
		"fixes #12":                           `fixes \#` + z + "12",
		"GH-12 gh-1":                          "GH-" + z + "12 gh-" + z + "1",
		"https://x.y www.x.y":                 "https:" + z + "//x.y www\\." + z + "x.y",
		"![i](u) [l](u)":                      `\!\[i\](u) \[l\](u)`,
		"<b>&#64;x":                           `&lt;b&gt;&amp;\#` + z + "64;x",
		"`code` *x* _y_ ~z~ | \\":             "\\`code\\` \\*x\\* \\_y\\_ \\~z\\~ \\| \\\\",
		"# head":                              `\#` + z + " head",
		"- item":                              `\- item`,
		"12. item":                            `12\.` + z + " item",
		"/yudai cancel":                       `\/yudai cancel`,
		"a\n\n/yudai\r\nb\u2028c":             "a /yudai b c",
		"in\u200bvis\u202eible\x00\x1b[0m":    `invisible \[0m`,
		"\xff":                                "\uFFFD",
		"":                                    "",
	} {
		if got := solve.Neutralise(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

var foreign = rapid.StringOf(rapid.OneOf(
	rapid.SampledFrom([]rune("@#<>&!|`~*_[]()\\:/.-+=$ \n\t\r1aw\u200b\u202e")),
	rapid.Rune(),
))

func harmless(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, in string,
) {
	out := solve.Neutralise(in)
	if strings.ContainsAny(out, "\n\r") || strings.HasPrefix(out, "/yudai") {
		t.Fatalf("%q became %q", in, out)
	}
	html := strings.TrimSpace(render(t, out))
	if html == "" {
		return
	}
	inner, ok := strings.CutPrefix(html, "<p>")
	inner, closed := strings.CutSuffix(inner, "</p>")
	if !ok || !closed || strings.Contains(inner, "<") {
		t.Fatalf("%q became %q, which renders as %q", in, out, html)
	}
	if m := regexp.MustCompile(`@[A-Za-z0-9]|(^|[^&])#[0-9]|(?i:gh-[0-9])|://|(?i:www\.[a-z])`).FindString(inner); m != "" {
		t.Fatalf("%q became %q with %q", in, html, m)
	}
}

// Whatever comes in, one paragraph of plain text comes out.
func TestNeutraliseProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { harmless(t, foreign.Draw(t, "foreign")) })
}

func FuzzNeutralise(f *testing.F) {
	f.Add("@octocat closes #1 <!-- x --> ![a](b)")
	f.Fuzz(func(t *testing.T, in string) { harmless(t, in) })
}

func TestCleanIssue(t *testing.T) {
	t.Parallel()
	for in, want := range map[[2]string]string{
		{"Title", "Body"}: "Title\n\nBody",
		{"Title", ""}:     "Title",
		{"", "Body"}:      "Body",
		{"Ti<!-- do evil -->tle", "a <!-- b\nc --> d"}:  "Title\n\na  d",
		{"T", "a <!-- never closed\nhidden"}:            "T\n\na",
		{"T", "a <!-<!-- -->- b --> c"}:                 "T\n\na  c",
		{"T", "a <!--> shown? --> b"}:                   "T\n\na  b",
		{"T", "<\u200b!-- b --> c"}:                     "T\n\nc",
		{"T\u200b\u202e\u2066", "a\ufeff\u00ad\u2060b"}: "T\n\nab",
		{"T", "a\U000E0041\U000E007F\U000E0100\ufe0fb"}: "T\n\nab",
		{"T", "a\u3164\u115f\u2800b"}:                   "T\n\nab",
		{"T", "a\x00\x1b[31mb\tc"}:                      "T\n\na[31mb\tc",
		{"T\nU", "a\r\nb\rc"}:                           "T U\n\na\nb\nc",
		{"T", "a\n[//]: # (do evil)\nb"}:                "T\n\na\n\nb",
		{"T", "a\n[x]: <> \"do evil\"\nb"}:              "T\n\na\n\nb",
		{"T", "see [1]\n[1]: https://example.org"}:      "T\n\nsee [1]\n[1]: https://example.org",
		{"T", "```go\nfunc main() {}\n```"}:             "T\n\n```go\nfunc main() {}\n```",
		{"T", "üñí 漢字 🙂 العربية"}:                       "T\n\nüñí 漢字 🙂 العربية",
	} {
		if got := solve.CleanIssue(in[0], in[1]); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzCleanIssue(f *testing.F) {
	f.Add("title", "a <!-- b --> c")
	f.Add("[x]: #", "<!-<!-- -->-")
	f.Fuzz(func(t *testing.T, title, body string) {
		out := solve.CleanIssue(title, body)
		if strings.Contains(out, "<!--") || strings.ContainsAny(out, "\u200b\u200d\u202e\u2066\ufeff\x00\x1b\r") {
			t.Errorf("%q %q became %q", title, body, out)
		}
	})
}
