// Package openapi checks traffic against GitHub's own OpenAPI description, cut
// to the part yudai uses. It needs no testing.T, so that tests of every package
// can put its transport in front of their client.
//
// The description knows no byte limits, rate limits or 422 semantics; those
// are the emulator's business.
package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Validator holds the loaded description. It may be used concurrently.
type Validator struct {
	doc    *openapi3.T
	router routers.Router
	prefix string
}

// server is the address requests are matched under, wherever they really go.
const server = "https://api.github.com"

// New loads the committed description from the source tree around the working directory, in
// about half a second. Requests under apiPrefix ("" or "/api/v3") are checked.
func New(apiPrefix string) (*Validator, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the OpenAPI description: %w", err)
	}
	for {
		path := filepath.Join(dir, "internal", "githubsim", "testdata", "github-openapi.json")
		if _, err := os.Stat(path); err == nil {
			return Load(path, apiPrefix)
		}
		if dir == filepath.Dir(dir) {
			return nil, errors.New("find the OpenAPI description: no source tree around the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// Load is New for a description in a file.
func Load(path, apiPrefix string) (*Validator, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read OpenAPI description: %w", err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("load OpenAPI description: %w", err)
	}
	doc.Servers = openapi3.Servers{{URL: server}}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("route OpenAPI description: %w", err)
	}
	return &Validator{doc: doc, router: router, prefix: strings.TrimSuffix(apiPrefix, "/")}, nil
}

// Transport passes requests to base and reports every request and response
// that does not fit the description. Report may be called concurrently. What
// goes to other places (git, pages) passes unchecked.
func (v *Validator) Transport(base http.RoundTripper, report func(error)) http.RoundTripper {
	return &transport{v, base, report}
}

type transport struct {
	v      *Validator
	base   http.RoundTripper
	report func(error)
}

// RoundTrip checks req, sends it, and checks the answer.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	page := strings.HasPrefix(req.URL.Path, "/login/oauth/")
	if !strings.HasPrefix(req.URL.Path, t.v.prefix+"/") || page || strings.Contains(req.URL.Path, ".git/") {
		return t.base.RoundTrip(req)
	}
	body, err := drain(req.Body)
	if err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	sent := req.Clone(req.Context())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	input, err := t.v.request(req, body)
	if err != nil {
		t.report(fmt.Errorf("%s %s: request: %w", req.Method, req.URL.Path, err))
	}
	resp, err := t.base.RoundTrip(sent)
	if err != nil || input == nil {
		return resp, err
	}
	answer, err := drain(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	if err := t.v.response(input, resp, answer); err != nil {
		t.report(fmt.Errorf("%s %s: response %d: %w", req.Method, req.URL.Path, resp.StatusCode, err))
	}
	return resp, nil
}

func drain(r io.ReadCloser) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	defer r.Close()
	return io.ReadAll(r)
}

func options() *openapi3filter.Options {
	return &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true, IncludeResponseStatus: true}
}

// request checks a request and returns what the check of its answer needs, or
// nil when no operation fits.
func (v *Validator) request(req *http.Request, body []byte) (*openapi3filter.RequestValidationInput, error) {
	matched := req.Clone(context.WithoutCancel(req.Context()))
	matched.Body = io.NopCloser(bytes.NewReader(body))
	target, err := url.Parse(server + encoded(strings.TrimPrefix(req.URL.EscapedPath(), v.prefix)))
	if err != nil {
		return nil, fmt.Errorf("parse path: %w", err)
	}
	target.RawQuery = req.URL.RawQuery
	matched.URL, matched.Host = target, target.Host
	route, params, err := v.router.FindRoute(matched)
	if err != nil {
		return nil, fmt.Errorf("no such operation in the description: %w", err)
	}
	for name, value := range params {
		if plain, err := url.PathUnescape(value); err == nil {
			params[name] = plain
		}
	}
	if len(body) == 0 || string(bytes.TrimSpace(body)) == "null" { // GitHub takes null for no body
		matched.Body = http.NoBody
	}
	if strings.HasSuffix(target.Path, "/labels") && bytes.HasPrefix(body, []byte("[")) {
		// GitHub takes a bare list, and go-github sends one; the description names only the object
		matched.Body = io.NopCloser(strings.NewReader(`{"labels":` + string(body) + `}`))
	}
	input := &openapi3filter.RequestValidationInput{Request: matched, PathParams: params, Route: route, Options: options()}
	return input, brief(openapi3filter.ValidateRequest(context.Background(), input))
}

// slashed are the places where GitHub takes a parameter with slashes, which
// the description's paths do not match unless the slashes are encoded.
func slashed() []string {
	return []string{"/contents/", "/git/ref/", "/git/refs/", "/git/matching-refs/", "/branches/", "/compare/", "/commits/"}
}

func encoded(path string) string {
	parts := strings.SplitN(path, "/", 5) // "", "repos", owner, repo, rest
	if len(parts) < 5 || parts[1] != "repos" {
		return path
	}
	rest := "/" + parts[4]
	tail := ""
	if strings.HasPrefix(rest, "/commits/") {
		for _, end := range []string{"/check-runs", "/check-suites"} {
			if cut, ok := strings.CutSuffix(rest, end); ok {
				rest, tail = cut, end
			}
		}
	}
	if deep, ok := strings.CutPrefix(rest, "/rules/branches/"); ok {
		rest = "/rules/branches/" + strings.ReplaceAll(deep, "/", "%2F")
	}
	if rest == "/contents" || rest == "/contents/" {
		rest = "/contents/%2F" // the root directory
	}
	for _, at := range slashed() {
		if deep, ok := strings.CutPrefix(rest, at); ok {
			rest = at + strings.ReplaceAll(deep, "/", "%2F")
			break
		}
	}
	return strings.Join(parts[:4], "/") + rest + tail
}

// response checks an answer. Answers of the service as a whole (rate limits,
// 5xx, bad credentials) are described for few operations and pass.
func (v *Validator) response(input *openapi3filter.RequestValidationInput, resp *http.Response, body []byte) error {
	if input.Route.Operation.Responses.Status(resp.StatusCode) == nil {
		switch {
		case resp.StatusCode >= 500, resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden,
			resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusNotModified,
			resp.StatusCode == http.StatusBadRequest, resp.StatusCode == http.StatusUnprocessableEntity:
			return errorShape(resp, body)
		}
	}
	if strings.Contains(resp.Header.Get("Content-Type"), ".raw") {
		return nil // asked for by a media type that the description leaves out
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: resp.StatusCode, Header: resp.Header,
		Body: io.NopCloser(bytes.NewReader(body)), Options: options(),
	}
	return brief(openapi3filter.ValidateResponse(context.Background(), out))
}

// errorShape checks that an error has GitHub's form.
func errorShape(resp *http.Response, body []byte) error {
	if resp.StatusCode == http.StatusNotModified {
		return nil
	}
	var v struct{ Message *string }
	if err := json.Unmarshal(body, &v); err != nil || v.Message == nil {
		return errors.New("an error without a message")
	}
	return nil
}

// Webhook checks a webhook's payload; action may be empty.
func (v *Validator) Webhook(event, action string, payload []byte) error {
	name := "webhook-" + strings.ReplaceAll(event, "_", "-")
	if action != "" {
		name += "-" + strings.ReplaceAll(action, "_", "-")
	}
	if event == "installation_repositories" {
		name = "webhook-installation-repositories-" + action
	}
	ref := v.doc.Components.Schemas[name]
	if ref == nil {
		return fmt.Errorf("the description has no %s", name)
	}
	var value any
	if err := json.Unmarshal(payload, &value); err != nil {
		return fmt.Errorf("parse payload: %w", err)
	}
	if err := ref.Value.VisitJSON(value, openapi3.MultiErrors()); err != nil {
		return fmt.Errorf("%s: %w", name, brief(err))
	}
	return nil
}

// brief shortens kin-openapi's errors, which quote whole schemas: where and why.
func brief(err error) error {
	if err == nil {
		return nil
	}
	var lines []string
	collect(err, &lines)
	return errors.New(strings.Join(lines, "; "))
}

func collect(err error, lines *[]string) {
	var many openapi3.MultiError
	var one *openapi3.SchemaError
	var req *openapi3filter.RequestError
	var resp *openapi3filter.ResponseError
	switch {
	case errors.As(err, &many) && len(many) > 0:
		for _, e := range many {
			collect(e, lines)
		}
	case errors.As(err, &one):
		line := "/" + strings.Join(one.JSONPointer(), "/") + ": " + one.Reason
		if one.Origin != nil {
			collect(one.Origin, lines)
			return
		}
		*lines = append(*lines, line)
	case errors.As(err, &req):
		what := req.Reason
		if req.Parameter != nil {
			what = "parameter " + req.Parameter.Name + ": " + what
		}
		*lines = append(*lines, what+" "+first(req.Err))
	case errors.As(err, &resp):
		*lines = append(*lines, resp.Reason+" "+first(resp.Err))
	default:
		*lines = append(*lines, first(err))
	}
}

func first(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
