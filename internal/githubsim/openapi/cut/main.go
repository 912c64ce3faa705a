// Command cut writes the part of GitHub's OpenAPI description that yudai
// needs: the paths and webhooks named in this file and everything they refer
// to. See ../../testdata/README.md for where the input comes from.
//
// Usage: go run ./internal/githubsim/openapi/cut IN OUT
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// keep names the operations: path, then methods.
func keep() map[string][]string {
	const repo = "/repos/{owner}/{repo}"
	return map[string][]string{
		"/app":                                 {"get"},
		"/app-manifests/{code}/conversions":    {"post"},
		"/app/hook/config":                     {"get", "patch"},
		"/app/installations":                   {"get"},
		"/app/installations/{installation_id}": {"get"},
		"/app/installations/{installation_id}/access_tokens": {"post"},
		"/app/hook/deliveries":                               {"get"},
		"/app/hook/deliveries/{delivery_id}":                 {"get"},
		"/app/hook/deliveries/{delivery_id}/attempts":        {"post"},
		"/installation/repositories":                         {"get"},
		"/installation/token":                                {"delete"},
		"/rate_limit":                                        {"get"},
		"/user":                                              {"get"},
		"/users/{username}":                                  {"get"},
		repo:                                                 {"get"},
		repo + "/installation":                               {"get"},
		repo + "/collaborators/{username}/permission":        {"get"},
		repo + "/contents/{path}":                            {"get"},
		repo + "/branches/{branch}":                          {"get"},
		repo + "/rules/branches/{branch}":                    {"get"},
		repo + "/compare/{basehead}":                         {"get"},
		repo + "/commits/{ref}":                              {"get"},
		repo + "/commits/{ref}/check-runs":                   {"get"},
		repo + "/git/ref/{ref}":                              {"get"},
		repo + "/git/matching-refs/{ref}":                    {"get"},
		repo + "/git/refs":                                   {"post"},
		repo + "/git/refs/{ref}":                             {"patch", "delete"},
		repo + "/git/blobs":                                  {"post"},
		repo + "/git/blobs/{file_sha}":                       {"get"},
		repo + "/git/trees":                                  {"post"},
		repo + "/git/trees/{tree_sha}":                       {"get"},
		repo + "/git/commits":                                {"post"},
		repo + "/git/commits/{commit_sha}":                   {"get"},
		repo + "/issues":                                     {"get"},
		repo + "/issues/{issue_number}":                      {"get", "patch"},
		repo + "/issues/{issue_number}/comments":             {"get", "post"},
		repo + "/issues/{issue_number}/events":               {"get"},
		repo + "/issues/comments/{comment_id}":               {"get", "patch", "delete"},
		repo + "/issues/{issue_number}/labels":               {"get", "post"},
		repo + "/issues/{issue_number}/labels/{name}":        {"delete"},
		repo + "/issues/{issue_number}/reactions":            {"get", "post"},
		repo + "/issues/comments/{comment_id}/reactions":     {"get", "post"},
		repo + "/check-runs":                                 {"post"},
		repo + "/check-runs/{check_run_id}":                  {"get", "patch"},
		repo + "/pulls":                                      {"get", "post"},
		repo + "/pulls/{pull_number}":                        {"get", "patch"},
		repo + "/pulls/{pull_number}/files":                  {"get"},
	}
}

// webhooks names the webhook payloads the emulator sends.
func webhooks() []string {
	return []string{
		"check-run-completed", "check-run-created", "check-run-requested-action", "check-run-rerequested",
		"check-suite-completed", "check-suite-requested", "check-suite-rerequested",
		"installation-created", "installation-deleted", "installation-suspend", "installation-unsuspend",
		"installation-new-permissions-accepted", "installation-repositories-added", "installation-repositories-removed",
		"issue-comment-created", "issue-comment-edited", "issue-comment-deleted",
		"issues-opened", "issues-closed", "issues-reopened", "issues-edited", "issues-labeled", "issues-unlabeled", "issues-deleted",
		"ping", "pull-request-opened", "pull-request-closed", "pull-request-edited", "pull-request-review-submitted",
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: cut IN OUT")
		os.Exit(2)
	}
	if err := cut(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func cut(in, out string) error {
	raw, err := os.ReadFile(in)
	if err != nil {
		return fmt.Errorf("read description: %w", err)
	}
	var full map[string]any
	if err := json.Unmarshal(raw, &full); err != nil {
		return fmt.Errorf("parse description %s: %w", in, err)
	}
	if err := mend(full); err != nil {
		return err
	}
	small, err := selected(full)
	if err != nil {
		return err
	}
	components, err := closure(full, small)
	if err != nil {
		return err
	}
	small["components"] = components
	text, err := json.MarshalIndent(small, "", " ")
	if err != nil {
		return fmt.Errorf("encode description: %w", err)
	}
	if err := os.WriteFile(out, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write description: %w", err)
	}
	return nil
}

// mend puts right what the description says wrongly.
func mend(full map[string]any) error {
	// An installation's account in the list would have to be a user and an
	// enterprise at once (allOf); the single installation says anyOf.
	list, ok := dig(full, "paths", "/app/installations", "get", "responses", "200", "content", "application/json", "schema").(map[string]any)
	if !ok {
		return fmt.Errorf("description has no list of installations")
	}
	list["items"] = map[string]any{"$ref": "#/components/schemas/installation"}
	return nil
}

func dig(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// selected is the description with only our paths and webhooks.
func selected(full map[string]any) (map[string]any, error) {
	paths, hooks := map[string]any{}, map[string]any{}
	all, _ := full["paths"].(map[string]any)
	for path, methods := range keep() {
		item, _ := all[path].(map[string]any)
		ours := map[string]any{}
		for _, method := range methods {
			if item[method] == nil {
				return nil, fmt.Errorf("description has no %s %s", method, path)
			}
			ours[method] = slim(item[method])
		}
		paths[path] = ours
	}
	allHooks, _ := full["x-webhooks"].(map[string]any)
	for _, name := range webhooks() {
		if allHooks[name] == nil {
			return nil, fmt.Errorf("description has no webhook %s", name)
		}
		hooks[name] = slim(allHooks[name])
	}
	return map[string]any{
		"openapi": full["openapi"], "info": full["info"], "servers": full["servers"],
		"paths": paths, "x-webhooks": hooks,
	}, nil
}

// closure collects the components that doc and they themselves refer to.
func closure(full, doc map[string]any) (map[string]any, error) {
	kept := map[string]any{}
	queue := refs(doc, nil)
	seen := map[string]bool{}
	for len(queue) > 0 {
		ref := queue[0]
		queue = queue[1:]
		if seen[ref] {
			continue
		}
		seen[ref] = true
		parts := strings.Split(ref, "/") // "#", "components", kind, name
		if len(parts) != 4 || parts[1] != "components" {
			return nil, fmt.Errorf("cannot follow reference %s", ref)
		}
		all, _ := full["components"].(map[string]any)
		kind, _ := all[parts[2]].(map[string]any)
		if kind[parts[3]] == nil {
			return nil, fmt.Errorf("reference %s leads nowhere", ref)
		}
		value := slim(kind[parts[3]])
		ours, _ := kept[parts[2]].(map[string]any)
		if ours == nil {
			ours = map[string]any{}
			kept[parts[2]] = ours
		}
		ours[parts[3]] = value
		queue = refs(value, queue)
	}
	return kept, nil
}

func refs(v any, found []string) []string {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			found = append(found, ref)
		}
		for _, child := range v {
			found = refs(child, found)
		}
	case []any:
		for _, child := range v {
			found = refs(child, found)
		}
	}
	return found
}

// slim leaves out examples, prose and vendor notes, which no check reads.
func slim(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, child := range v {
			if dropped(key, child) {
				continue
			}
			if _, prose := child.(string); prose && key == "description" {
				if !isResponse(v) {
					continue
				}
				child = "" // a response must have one
			}
			out[key] = slim(child)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, child := range v {
			out[i] = slim(child)
		}
		return out
	}
	return v
}

// isResponse tells a response from a schema, parameter or operation.
func isResponse(v map[string]any) bool {
	for _, key := range []string{"type", "schema", "in", "oneOf", "anyOf", "allOf", "properties", "operationId", "enum", "title", "$ref"} {
		if v[key] != nil {
			return false
		}
	}
	return true
}

// dropped tells keywords from properties of the same name by their value.
func dropped(key string, value any) bool {
	switch key {
	case "examples":
		switch value := value.(type) {
		case []any:
			return true
		case map[string]any:
			for _, one := range value {
				entry, _ := one.(map[string]any)
				if entry["$ref"] == nil && entry["value"] == nil {
					return false
				}
			}
			return true
		}
	case "example", "externalDocs", "x-github", "x-octokit", "x-multi-segment":
		if child, ok := value.(map[string]any); ok && key == "example" {
			return child["type"] == nil && child["$ref"] == nil
		}
		return true
	}
	return false
}
