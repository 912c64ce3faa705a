package report_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/report"
)

func TestSanitize(t *testing.T) {
	t.Parallel()
	const z = "\u200b"
	for in, want := range map[string]string{
		"plain words, (brackets) and-dashes.": "plain words, (brackets) and-dashes.",
		"@octocat":                            "@" + z + "octocat",
		"fixes #12":                           `fixes \#` + z + "12",
		"GH-12 gh-1":                          "GH-" + z + "12 gh-" + z + "1",
		"https://x.y www.x.y":                 "https:" + z + "//x.y www\\." + z + "x.y",
		"![i](u) [l](u)":                      `\!\[i\](u) \[l\](u)`,
		"a high-level @ sign, issue # of gh-pages, C# and www.": `a high-level @ sign, issue \# of gh-pages, C\# and www\.`,
		"<b>&#64;x":                        `&lt;b&gt;&amp;\#` + z + "64;x",
		"`code` *x* _y_ ~z~ | \\":          "\\`code\\` \\*x\\* \\_y\\_ \\~z\\~ \\| \\\\",
		"# head":                           `\# head`,
		"- item":                           `\- item`,
		"12. item":                         `12\. item`,
		"/yudai cancel":                    `\/yudai cancel`,
		"a\n\n/yudai\r\nb\u2028c":          "a /yudai b c",
		"in\u200bvis\u202eible\x00\x1b[0m": `invisible \[0m`,
		"\xff":                             "\uFFFD",
		"":                                 "",
	} {
		if got := report.Sanitize(in); got != want {
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
	out := report.Sanitize(in)
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
func TestSanitizeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { harmless(t, foreign.Draw(t, "foreign")) })
}

func FuzzSanitize(f *testing.F) {
	f.Add("@octocat closes #1 <!-- x --> ![a](b)")
	f.Fuzz(func(t *testing.T, in string) { harmless(t, in) })
}
