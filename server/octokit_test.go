package server_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

// example is one payload that somebody else wrote down.
type example struct {
	event, name string
	payload     map[string]any
}

// octokitExamples are all payloads of the npm package @octokit/webhooks-examples.
func octokitExamples(t *testing.T) []example {
	t.Helper()
	f, err := os.Open("../handlers/testdata/octokit/index.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name     string           `json:"name"`
		Examples []map[string]any `json:"examples"`
	}
	if err := json.NewDecoder(unpacked).Decode(&events); err != nil {
		t.Fatal(err)
	}
	var out []example
	for _, e := range events {
		for i, payload := range e.Examples {
			action, _ := payload["action"].(string)
			out = append(out, example{e.Name, fmt.Sprintf("%s.%s %d", e.Name, action, i), payload})
		}
	}
	if len(out) != 329 {
		t.Fatalf("%d examples, want 329", len(out))
	}
	return out
}

// TestOctokitExamples sends every example through the intake, signed, as it is and as
// an App would get it. None breaks a handler, each is acknowledged, and what is stored is
// what these few ask for: none of the rest is ours.
func TestOctokitExamples(t *testing.T) {
	t.Parallel()
	stop := func(s solve.StopEvent) string { return "stop " + string(s) }
	gone := map[string]string{
		"installation.deleted 0": stop(solve.StopOnUninstalled), "installation.deleted 3": stop(solve.StopOnUninstalled),
		"installation.suspend 5":              stop(solve.StopOnSuspended),
		"installation_repositories.removed 2": stop(solve.StopOnUninstalled),
		"issues.deleted 4":                    stop(solve.StopOnDeleted),
	}
	installed := map[string]string{
		"issues.labeled 9": "solve", "issues.labeled 10": "solve",
		"issues.transferred 21": stop(solve.StopOnTransferred),
		"issues.unlabeled 24":   stop(solve.StopOnUnlabelled), "issues.unlabeled 25": stop(solve.StopOnUnlabelled),
	}
	for name, what := range gone {
		installed[name] = what
	}
	for _, tt := range []struct {
		name    string
		change  func(example)
		want    map[string]string
		ignored int // deliveries that only miss their installation
	}{
		{"as they are", func(example) {}, gone, 0},
		{"with our label", ourLabel, gone, 5},
		{"with our label, installed", func(e example) {
			ourLabel(e)
			if e.payload["installation"] == nil {
				e.payload["installation"] = map[string]any{"id": 7}
			}
		}, installed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t)
			got := map[string]string{}
			for i, e := range octokitExamples(t) {
				tt.change(e)
				h.send(t, e, fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
				if w, stored := h.known[fmt.Sprintf("00000000-0000-0000-0000-%012d", i)]; stored {
					got[e.name] = wished(w)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if n := strings.Count(h.log.String(), "names no installation"); n < tt.ignored {
				t.Errorf("%d deliveries are said to name no installation, want %d", n, tt.ignored)
			}
		})
	}
}

// send posts an example, which must be acknowledged.
func (h hook) send(t *testing.T, e example, guid string) {
	t.Helper()
	body, err := json.Marshal(e.payload)
	if err != nil {
		t.Fatal(err)
	}
	status, text := h.post(t, e.event, body, func(r *http.Request) { r.Header.Set("X-GitHub-Delivery", guid) })
	if status != http.StatusOK && status != http.StatusAccepted {
		t.Errorf("%s: answer %d %s", e.name, status, text)
	}
}

// ourLabel makes the label of an event the one that asks for a solve.
func ourLabel(e example) {
	if label, ok := e.payload["label"].(map[string]any); ok && e.event == "issues" {
		label["name"] = "yudai:solve"
	}
}

func wished(w solve.Intent) string {
	switch {
	case w.Solve != nil:
		return "solve"
	case w.Command.Kind == solve.CommandStop:
		return "stop " + string(w.Command.Stop)
	}
	return string(w.Command.Kind)
}
