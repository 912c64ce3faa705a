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
	page, err := template.New("docs").Parse(docsPage)
	if err != nil {
		return nil, fmt.Errorf("parse the documentation page: %w", err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Style":      template.CSS(docsStyle), //nolint:gosec // a file of ours
		"Info":       doc.Info,
		"Base":       base,
		"Operations": operationsOf(doc),
		"Schemas":    schemasOf(doc),
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

type docOperation struct {
	*huma.Operation
	Body    string // the schema of the request's body
	Answers []docAnswer
	Curl    string
}

type docAnswer struct{ Status, Text, Schema string }

func operationsOf(doc *huma.OpenAPI) []docOperation {
	var out []docOperation
	for _, p := range slices.Sorted(maps.Keys(doc.Paths)) {
		item := doc.Paths[p]
		for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if o == nil {
				continue
			}
			d := docOperation{Operation: o}
			d.Curl, _ = o.Metadata["curl"].(string)
			if o.RequestBody != nil {
				d.Body = schemaIn(o.RequestBody.Content)
			}
			for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
				r := o.Responses[status]
				d.Answers = append(d.Answers, docAnswer{status, r.Description, schemaIn(r.Content)})
			}
			out = append(out, d)
		}
	}
	return out
}

func schemaIn(content map[string]*huma.MediaType) string {
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		if s := content[kind].Schema; s != nil && s.Ref != "" {
			return path.Base(s.Ref)
		}
	}
	return ""
}

type docSchema struct {
	Name   string
	Fields []docField
}

type docField struct {
	Name, Type, Link, Text string
	Required               bool
}

func schemasOf(doc *huma.OpenAPI) []docSchema {
	all := doc.Components.Schemas.Map()
	var out []docSchema
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := docSchema{Name: name}
		for _, field := range slices.Sorted(maps.Keys(all[name].Properties)) {
			p := all[name].Properties[field]
			f := docField{Name: field, Text: describeField(p), Required: slices.Contains(all[name].Required, field)}
			f.Type, f.Link = typeOf(p)
			s.Fields = append(s.Fields, f)
		}
		slices.SortStableFunc(s.Fields, func(a, b docField) int { return cmp.Compare(rank(a), rank(b)) })
		out = append(out, s)
	}
	return out
}

// rank puts required fields first.
func rank(f docField) int {
	if f.Required {
		return 0
	}
	return 1
}

// typeOf names a schema's type in words; link is the schema it refers to.
func typeOf(s *huma.Schema) (name, link string) {
	switch {
	case s.Ref != "":
		return path.Base(s.Ref), path.Base(s.Ref)
	case s.Type == huma.TypeArray && s.Items != nil:
		name, link = typeOf(s.Items)
		return "list of " + name, link
	case s.Format == "date-time":
		return "time (RFC 3339)", ""
	case s.Type == "":
		return "any", ""
	default:
		return s.Type, ""
	}
}

// describeField is a field's description with its range.
func describeField(s *huma.Schema) string {
	parts := []string{s.Description}
	if len(s.Enum) > 0 {
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprint(v)
		}
		parts = append(parts, "One of "+strings.Join(words, ", ")+".")
	}
	if s.Minimum != nil && s.Maximum != nil {
		parts = append(parts, fmt.Sprintf("From %.0f to %.0f.", *s.Minimum, *s.Maximum))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}
