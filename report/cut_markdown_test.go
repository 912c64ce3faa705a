package report_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/report"
)

func TestCutMarkdown(t *testing.T) {
	t.Parallel()
	const more = "(more)"
	for name, c := range map[string]struct {
		in    string
		limit int
		want  string
	}{
		"fits":                {"a\nb\n", 4, "a\nb\n"},
		"between lines":       {"aaaa\nbbbb\ncccc dddd eeee\n", 20, "aaaa\nbbbb\n\n(more)"},
		"never inside a line": {"`@octocat is called here`", 20, more},
		"fence":               {"```text\nline\nline\nline\nline\n```\n", 30, "```text\nline\nline\n```\n\n(more)"},
		"longer fence":        {"````\n```\nline line line line\n````\n", 26, "````\n```\n````\n\n(more)"},
		"tilde fence":         {"~~~\naaaa\nbbbbbbbbbbbbbbbbbbbbb\n~~~\n", 24, "~~~\naaaa\n~~~\n\n(more)"},
		"details":             {"<details>\n<summary>x</summary>\n\nline\nlong long long long long line\n</details>\n", 64, "<details>\n<summary>x</summary>\n\nline\n\n</details>\n\n(more)"},
		"fence in details":    {"<details>\n\n```\nline\nlong long long long long line\n```\n\n</details>\n", 46, "<details>\n\n```\nline\n```\n\n</details>\n\n(more)"},
		"details in a fence":  {"```\n<details>\nlong long long long line\n```\n", 30, "```\n<details>\n```\n\n(more)"},
		"comment":             {"<!--\nhidden\nhidden hidden hidden\n-->\n", 28, "<!--\nhidden\n-->\n\n(more)"},
		"table":               {"| a |\n| - |\n| 1 |\n| 2 | long long long long |\n", 28, "| a |\n| - |\n| 1 |\n\n(more)"},
		"code span is open":   {"``` not a fence ```\nx\nlong long long long line\n", 32, "``` not a fence ```\nx\n\n(more)"},
		"more is too long":    {"aaaaaaaaaa", 3, "(mo"},
		"nothing fits":        {"aaaaaaaaaa", 0, ""},
		"bytes, not letters":  {"日本語\n日本語\n", 19, "日本語\n\n(more)"}, // 8 letters, 20 bytes
	} {
		if got := report.CutMarkdown(c.in, c.limit, more); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := report.CutMarkdown(strings.Repeat("a", 9), 4, "üüü"); got != "üü" {
		t.Errorf("%q", got)
	}
}

// What is cut is within the limit, valid, made of whole lines, closed, and says that there is more.
func TestCutMarkdownProperties(t *testing.T) {
	t.Parallel()
	block := rapid.OneOf(
		rapid.SampledFrom([]string{
			"text üöä\n\n", "| a | b |\n| --- | --- |\n| 1 | `x` |\n| 2 | y |\n\n", "```go\ncode\n\n<details>\ncode\n```\n\n", "````\n```\ninner\n```\n````\n\n",
			"<details>\n<summary>s</summary>\n\nhidden\n\n```\ncode\n```\n\n<details>\n\ninner\n\n</details>\n\n</details>\n\n", "~~~~\n~~~\n~~~~\n\n",
			"- item\n- item\n\n", "<!-- one line -->\n", "<!-- many\nlines -->\n\n", "<details><summary>one line</summary>x</details>\n\n",
		}),
		rapid.Map(rapid.StringMatching(`[a-zäö ]{0,40}`), func(s string) string { return s + "\n" }),
	)
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(block, 0, 12).Draw(t, "blocks"), "")
		limit := rapid.IntRange(0, len(in)+10).Draw(t, "limit")
		const more = "*more*"
		out := report.CutMarkdown(in, limit, more)
		if len(out) > limit || !utf8.ValidString(out) {
			t.Fatalf("%d bytes of %d", len(out), limit)
		}
		if len(in) <= limit {
			if out != in {
				t.Fatal("changed what fits")
			}
			return
		}
		if limit >= len(more) && !strings.HasSuffix(out, more) {
			t.Fatalf("%q does not say that there is more", out)
		}
		for line := range strings.Lines(strings.TrimSuffix(out, more)) {
			line = strings.TrimRight(line, "\n")
			if limit >= len(more) && line != "" && line != "</details>" && line != "-->" && strings.Trim(line, "`~") != "" && !strings.Contains("\n"+in, "\n"+line+"\n") {
				t.Fatalf("%q is no whole line", line)
			}
		}
		// Rendered, the sentence stands in a paragraph of its own: nothing is open around it.
		html := render(t, out)
		if limit >= len(more) && !strings.HasSuffix(strings.TrimSpace(html), "<p><em>more</em></p>") {
			t.Fatalf("%q renders as %q", out, html)
		}
		if strings.Count(html, "<details>") != strings.Count(html, "</details>") {
			t.Fatalf("%q leaves details open", out)
		}
	})
}

// A cut text can be cut again.
func TestCutMarkdownTwice(t *testing.T) {
	t.Parallel()
	in := strings.Repeat("| row | `code` |\n", 1000)
	once := report.CutMarkdown(in, 5000, "more")
	if twice := report.CutMarkdown(once, 5000, "more"); twice != once {
		t.Error("a cut text that fits was changed")
	}
}
