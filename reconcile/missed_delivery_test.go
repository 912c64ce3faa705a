package reconcile

import (
	"context"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/ghapp"
)

// forgetful is a store that knows these deliveries.
type forgetful struct {
	Store
	knows map[string]bool
}

func (f forgetful) UnknownDeliveries(_ context.Context, guids []string) (unknown []string, err error) {
	for _, guid := range guids {
		if !f.knows[guid] {
			unknown = append(unknown, guid)
		}
	}
	return unknown, nil
}

// TestAStoreThatForgetsIsToldAgain: a delivery that was recovered and stored is recovered again when a failover has lost it. One that
// asked for nothing was never stored, and is not read twice.
func TestAStoreThatForgetsIsToldAgain(t *testing.T) {
	t.Parallel()
	const some = "00000000-0000-0000-0000-00000000000"
	const stored, nothing, fresh = some + "1", some + "2", some + "3"
	f := forgetful{knows: map[string]bool{stored: true}}
	r := &Reconciler{Store: f, seen: map[string]time.Time{stored: time.Now(), nothing: time.Now()}}
	missed := func() (guids string) {
		t.Helper()
		list, err := r.unknown(t.Context(), []ghapp.LoggedDelivery{{GUID: stored}, {GUID: nothing}, {GUID: fresh}})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			guids += d.GUID + " "
		}
		return guids
	}
	if got := missed(); got != fresh+" " {
		t.Errorf("missed: %s", got)
	}
	delete(f.knows, stored)
	if got := missed(); got != stored+" "+fresh+" " {
		t.Errorf("missed after the failover: %s", got)
	}
}
