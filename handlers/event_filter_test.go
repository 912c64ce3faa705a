package handlers_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/solve"
)

// everything is a payload that asks for something, whatever its event and action.
func everything(t *testing.T, event, action string) []byte {
	t.Helper()
	body := "/yudai help"
	if action == "deleted" && event == "issue_comment" {
		body = solve.Marker("cnv8q5k6n88s73a1e0h0", string(solve.EffectNotice))
	}
	author := "ada"
	if action == "deleted" {
		author = "yudai[bot]"
	}
	type obj = map[string]any
	ours := obj{"id": 29310}
	raw, err := json.Marshal(obj{
		"action": action, "label": obj{"name": "yudai:solve"}, "assignee": obj{"login": "yudai[bot]"}, "issue": obj{"number": 1, "state": "open"},
		"comment":    obj{"id": 5, "body": body, "user": obj{"login": author}},
		"repository": obj{"id": 3, "name": "hello", "owner": obj{"login": "octo"}, "default_branch": "main"},
		"check_run":  obj{"external_id": "yudai:cnv8q5k6n88s73a1e0h0", "app": ours}, "requested_action": obj{"identifier": "retry"},
		"check_suite":          obj{"head_branch": "ai/fix-1-cnv8q5k6n88s73a1e0h0", "app": ours},
		"pull_request":         obj{"number": 2, "user": obj{"login": "yudai[bot]"}},
		"review":               obj{"state": "changes_requested", "body": "shorter", "user": obj{"login": "ada"}},
		"repositories_removed": []obj{{"id": 3}}, "installation": obj{"id": 7, "account": obj{"login": "octo"}},
		"sender": obj{"login": "ada", "type": "User"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestWanted: what is not wanted asks for nothing, whatever it carries, and what is
// wanted may ask for something. The words are all actions of the events that are handled.
func TestWanted(t *testing.T) {
	t.Parallel()
	actions := []string{
		"", "added", "assigned", "closed", "completed", "converted_to_draft", "created", "deleted", "demilestoned", "dismissed", "edited",
		"labeled", "locked", "milestoned", "new_permissions_accepted", "opened", "pinned", "removed", "reopened", "requested",
		"requested_action", "rerequested", "submitted", "suspend", "transferred", "typed", "unassigned", "unlabeled", "unlocked",
		"unpinned", "unsuspend", "untyped",
	}
	for _, event := range slices.Sorted(maps.Keys(setup(t).handlers)) {
		any := false
		for _, action := range actions {
			i := setup(t)
			if err := i.handle(event, everything(t, event, action)); err != nil {
				t.Errorf("%s.%s: %v", event, action, err)
			}
			asks := len(i.intents)+len(i.evicted) > 0
			any = any || asks
			if wanted := handlers.Wanted(event, action); wanted != asks {
				t.Errorf("%s.%s: wanted %v, asks for something %v", event, action, wanted, asks)
			}
		}
		if !any {
			t.Errorf("nothing of %s asks for anything: the payload of this test lacks something", event)
		}
	}
	if handlers.Wanted("push", "") || handlers.Wanted("issues", "") {
		t.Error("an event without handler is wanted")
	}
}
