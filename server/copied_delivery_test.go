package server_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// payload is an event of somebody with a tie, at a time.
func payload(t *testing.T, action, command string, at time.Time) []byte {
	t.Helper()
	when := at.UTC().Format(time.RFC3339)
	doc := map[string]any{
		"action": action, "installation": map[string]any{"id": 7},
		"repository": map[string]any{"id": 3, "name": "project", "owner": map[string]any{"login": "octo"}},
		"issue":      map[string]any{"number": 5, "state": "open", "updated_at": when},
		"sender":     map[string]any{"login": "ann", "type": "User"},
	}
	if command == "" {
		doc["label"] = map[string]any{"name": handlers.DefaultLabel}
	} else {
		doc["comment"] = map[string]any{"id": 77, "body": command, "created_at": when, "user": map[string]any{"login": "ann", "type": "User"}, "author_association": "OWNER"}
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestCopiedDeliveryAsksOnce: the signature does not cover the id, so a copy of a delivery under
// another id is stored, and asks for nothing. One whose event is older than the store's memory asks
// for nothing either, and one that is late says so.
func TestCopiedDeliveryAsksOnce(t *testing.T) {
	t.Parallel()
	const keep = 14 * 24 * time.Hour
	for name, c := range map[string]struct {
		event, action, command string
		age                    time.Duration
		asks, late             bool
	}{
		"a label":         {"issues", "labeled", "", 0, true, false},
		"a retry":         {"issue_comment", "created", "/yudai retry", 0, true, false},
		"a question":      {"issue_comment", "created", "/yudai status", time.Minute, true, false},
		"a late label":    {"issues", "labeled", "", time.Hour, true, true},
		"a late retry":    {"issue_comment", "created", "/yudai retry", time.Hour, true, true},
		"an ancient one":  {"issue_comment", "created", "/yudai retry", keep + time.Hour, false, false},
		"an old labeling": {"issues", "labeled", "", keep + time.Hour, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := bolt.DefaultConfig()
			cfg.Path = filepath.Join(t.TempDir(), "yudai.db")
			store, err := bolt.Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			in, err := server.NewIntake(secret, handlers.New(handlers.Options{Accepter: store, Keep: keep}))
			if err != nil {
				t.Fatal(err)
			}
			body := payload(t, c.action, c.command, time.Now().Add(-c.age))
			for n := range 3 {
				r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("X-GitHub-Event", c.event)
				r.Header.Set("X-GitHub-Delivery", fmt.Sprintf("%08d-cc78-11e3-81ab-4c9367dc0958", n))
				r.Header.Set("X-Hub-Signature-256", sign("sha256", sha256.New, secret, body))
				w := httptest.NewRecorder()
				in.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			solves, err := store.LiveSolves(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			commands, err := store.Commands(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := len(solves) + len(commands); (n == 1) != c.asks || n > 1 {
				t.Fatalf("%d solves and %d commands", len(solves), len(commands))
			}
			for _, s := range solves {
				if s.Trigger.Late != c.late {
					t.Errorf("%+v", s.Trigger)
				}
			}
			for _, a := range commands {
				if a.Late != c.late || c.late && a.Said != solve.Digest(c.command) {
					t.Errorf("%+v", a)
				}
			}
		})
	}
}
