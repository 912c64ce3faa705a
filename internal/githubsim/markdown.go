package githubsim

import (
	"bytes"
	"html"
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// markdown renders a text as GitHub does, with raw HTML cut down to a few
// harmless tags without attributes. Comments in it vanish.
func markdown(text string) template.HTML {
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(tame{}, 1))),
	)
	var out bytes.Buffer
	if err := md.Convert([]byte(text), &out); err != nil {
		return template.HTML("<pre>" + html.EscapeString(text) + "</pre>")
	}
	return template.HTML(out.String())
}

// tame renders raw HTML.
type tame struct{}

// RegisterFuncs takes over the two kinds of raw HTML.
func (tame) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if block, ok := n.(*ast.HTMLBlock); ok && entering {
			text := block.Lines().Value(source)
			if block.HasClosure() {
				text = append(text, block.ClosureLine.Value(source)...)
			}
			_, err := w.WriteString(harmless(string(text)))
			return ast.WalkContinue, err
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if raw, ok := n.(*ast.RawHTML); ok && entering {
			_, err := w.WriteString(harmless(string(raw.Segments.Value(source))))
			return ast.WalkSkipChildren, err
		}
		return ast.WalkContinue, nil
	})
}

var (
	htmlComment = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)
	htmlTag     = regexp.MustCompile(`(?i)&lt;(/?)(details|summary|b|i|em|strong|sub|sup|kbd|code|br|hr|p)(\s+open)?\s*/?&gt;`)
)

// harmless escapes everything and then allows plain tags again.
func harmless(text string) string {
	text = html.EscapeString(htmlComment.ReplaceAllString(text, ""))
	return htmlTag.ReplaceAllStringFunc(text, func(tag string) string {
		m := htmlTag.FindStringSubmatch(tag)
		return "<" + m[1] + strings.ToLower(m[2]+m[3]) + ">"
	})
}
