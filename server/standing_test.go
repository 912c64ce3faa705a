package server_test

import (
	"encoding/json"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
)

// TestUnknownPricesOfAServer: what a model without a price costs is unknown to who asks a server, too.
func TestUnknownPricesOfAServer(t *testing.T) {
	t.Parallel()
	var st server.Standing
	if err := json.Unmarshal([]byte(`{"unpriced_models": ["free"], "experiments": [
		{"run": 1, "model": "free", "tokens": 9}, {"run": 2, "model": "free"}, {"run": 3, "model": "dear", "tokens": 9, "cost_usd": 0.5}]}`), &st.Told); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"unknown", "$0", "$0.5000"} {
		if got := report.RunPageOf(st.View(), i+1).Cost; got != want {
			t.Errorf("run %d: %s, want %s", i+1, got, want)
		}
	}
	if got := report.PageOf(st.View()).Cost; got != "$0.5000 or more" {
		t.Errorf("all: %s", got)
	}
}
