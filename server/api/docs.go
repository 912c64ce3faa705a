package api

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed docs.html
var docsPage string

//go:embed docs.css
var docsStyle string

// newDescription serves the OpenAPI description, rendered once.
func newDescription(api huma.API) (http.Handler, error) {
	data, err := json.MarshalIndent(api.OpenAPI(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render the OpenAPI description: %w", err)
	}
	return serve("application/openapi+json", "", data), nil
}

// newDocs serves the documentation of the API: one page made from the description,
// without scripts and without anything from another place. The one style sheet is
// allowed by its hash.
func newDocs(doc *huma.OpenAPI, base string) (http.Handler, error) {
	page, err := template.New("docs").Funcs(template.FuncMap{
		"schema": schemaIn, "fields": fieldsOf, "required": isRequired, "type": typeText, "link": linkOf, "text": describeField,
	}).Parse(docsPage)
	if err != nil {
		return nil, fmt.Errorf("parse the documentation page: %w", err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Style":      template.CSS(docsStyle), //nolint:gosec // a file of ours
		"Info":       doc.Info,
		"Base":       base,
		"Operations": operationsOf(doc),
		"Schemas":    doc.Components.Schemas.Map(),
	})
	if err != nil {
		return nil, fmt.Errorf("render the documentation page: %w", err)
	}
	sum := sha256.Sum256([]byte(docsStyle))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return serve("text/html; charset=utf-8", policy, out.Bytes()), nil
}

func serve(kind, policy string, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		if policy != "" {
			w.Header().Set("Content-Security-Policy", policy)
		}
		w.Write(body)
	})
}

// example is the call of an operation that needs no body, for its documentation; more follows it.
func example(path, more string) map[string]any {
	return map[string]any{"curl": "curl -sSf \"$YUDAI_URL" + path + "\" \\\n  -H \"Authorization: Bearer $YUDAI_API_TOKEN\"" + more}
}

// operationsOf lists the operations in the order of their paths.
func operationsOf(doc *huma.OpenAPI) (out []*huma.Operation) {
	for _, p := range slices.Sorted(maps.Keys(doc.Paths)) {
		at := doc.Paths[p]
		for _, o := range []*huma.Operation{at.Get, at.Head, at.Post, at.Put, at.Patch, at.Delete, at.Options, at.Trace} {
			if o != nil {
				out = append(out, o)
			}
		}
	}
	return out
}

// schemaIn names the schema of a body, "" if it has none.
func schemaIn(content map[string]*huma.MediaType) string {
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		if s := content[kind].Schema; s != nil && s.Ref != "" {
			return path.Base(s.Ref)
		}
	}
	return ""
}

// fieldsOf names the fields of a schema, the required ones first.
func fieldsOf(s *huma.Schema) []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	optional := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return isRequired(s, name) })
	return append(slices.DeleteFunc(names, func(name string) bool { return !isRequired(s, name) }), optional...)
}

func isRequired(s *huma.Schema, field string) bool { return slices.Contains(s.Required, field) }

// linkOf names the schema to which a field refers, "" if to none.
func linkOf(s *huma.Schema) string {
	switch {
	case s.Ref != "":
		return path.Base(s.Ref)
	case s.Items != nil:
		return linkOf(s.Items)
	}
	return ""
}

// typeText names a schema's type in words.
func typeText(s *huma.Schema) string {
	switch {
	case s.Ref != "":
		return path.Base(s.Ref)
	case s.Type == huma.TypeArray && s.Items != nil:
		return "list of " + typeText(s.Items)
	case s.Format == "date-time":
		return "time (RFC 3339)"
	}
	return cmp.Or(s.Type, "any")
}

// describeField is a field's description with its range.
func describeField(s *huma.Schema) string {
	parts := []string{s.Description}
	if len(s.Enum) > 0 {
		var words []string
		for _, v := range s.Enum {
			words = append(words, fmt.Sprint(v))
		}
		parts = append(parts, "One of "+strings.Join(words, ", ")+".")
	}
	if s.Minimum != nil && s.Maximum != nil {
		parts = append(parts, fmt.Sprintf("From %.0f to %.0f.", *s.Minimum, *s.Maximum))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}
