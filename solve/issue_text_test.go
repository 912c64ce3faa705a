package solve_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

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
