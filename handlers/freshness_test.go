package handlers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/palantir/go-githubapp/githubapp"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/solve"
)

// TestDeletionIsNotAsOldAsWhatIsGone: our comment of a month ago that somebody deletes now is
// written again.
func TestDeletionIsNotAsOldAsWhatIsGone(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	i := &intake{handlers: map[string]githubapp.EventHandler{}}
	for _, h := range handlers.New(handlers.Options{Accepter: i, Bot: "yudai[bot]", Now: noon, Keep: 14 * day}) {
		i.handlers[h.Handles()[0]] = h
	}
	ours := deleted("yudai[bot]", solve.Marker("cnv8q5k6n88s73a1e0h0", string(solve.EffectNotice)))
	ours["comment.created_at"] = noon().Add(-30 * day).Format(time.RFC3339)
	if err := i.handle("issue_comment", event(t, "deleted", ours)); err != nil || len(i.intents) != 1 || i.intents[0].Command.Late {
		t.Errorf("%v, %+v", err, i.intents)
	}
}

// TestAssignmentIsOneWish: a copy of its delivery under another GUID is about the same.
func TestAssignmentIsOneWish(t *testing.T) {
	t.Parallel()
	i := &intake{handlers: map[string]githubapp.EventHandler{}}
	for _, h := range handlers.New(handlers.Options{Accepter: i, Bot: "yudai[bot]", Now: noon, Keep: time.Hour}) {
		i.handlers[h.Handles()[0]] = h
	}
	at := noon().Add(-time.Minute)
	raw := labeled(t, map[string]any{
		"action": "assigned", "assignee.login": "yudai[bot]", "label.name": "", "issue.updated_at": at.Format(time.RFC3339),
	})
	if err := i.handle("issues", raw); err != nil || len(i.deliveries) != 1 {
		t.Fatal(err, i.deliveries)
	}
	if want := fmt.Sprintf("assigned:186853002:1:%d", at.Unix()); i.deliveries[0].About != want {
		t.Errorf("about %q, want %q", i.deliveries[0].About, want)
	}
}

// TestDeliveryID: GitHub's GUIDs stay, in small letters; any other id becomes one that looks
// like a GUID, always the same.
func TestDeliveryID(t *testing.T) {
	t.Parallel()
	if got := handlers.DeliveryID("72D3162E-cc78-11e3-81ab-4c9367dc0958"); got != guid {
		t.Error(got)
	}
	made := map[string]bool{}
	for _, id := range []string{"12345", "12346", guid + "0", "a\x00b", "a\xff", " "} {
		got := handlers.DeliveryID(id)
		if got != handlers.DeliveryID(id) || handlers.DeliveryID(got) != got || len(got) != len(guid) || made[got] {
			t.Errorf("%q became %q", id, got)
		}
		made[got] = true
	}
}

// TestMergeIsOneWish: a copy of its delivery has no tests run again, and one from long ago asks for nothing.
func TestMergeIsOneWish(t *testing.T) {
	t.Parallel()
	i := &intake{handlers: map[string]githubapp.EventHandler{}}
	for _, h := range handlers.New(handlers.Options{Accepter: i, Bot: "yudai[bot]", Now: noon, Keep: time.Hour}) {
		i.handlers[h.Handles()[0]] = h
	}
	for _, age := range []time.Duration{time.Minute, 2 * time.Hour} {
		merged := with(by("kim", "Fixes #3"), "pull_request.merged_at", noon().Add(-age).Format(time.RFC3339))
		if err := i.handle("pull_request", event(t, "closed", merged)); err != nil || len(i.deliveries) != 1 {
			t.Fatal(age, err, i.deliveries)
		}
	}
	if want := fmt.Sprintf("hindsight:%d:8", i.intents[0].Command.Repo.ID); i.deliveries[0].About != want {
		t.Errorf("about %q, want %q", i.deliveries[0].About, want)
	}
}
