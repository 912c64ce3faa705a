package handlers_test

import (
	"testing"

	"github.com/yudai-dev/yudai/handlers"
)

// TestDeliveryID: GitHub's GUIDs stay, in small letters; any other id becomes one that looks
// like a GUID, always the same.
func TestDeliveryID(t *testing.T) {
	t.Parallel()
	if got := handlers.DeliveryID("72D3162E-cc78-11e3-81ab-4c9367dc0958"); got != guid {
		t.Error(got)
	}
	made := map[string]bool{}
	for _, id := range []string{"12345", "12346", guid + "0", "a\x00b", " "} {
		got := handlers.DeliveryID(id)
		if got != handlers.DeliveryID(id) || handlers.DeliveryID(got) != got || len(got) != len(guid) || made[got] {
			t.Errorf("%q became %q", id, got)
		}
		made[got] = true
	}
}
