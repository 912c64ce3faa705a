package githubsim_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

// TestHistory: every write and every delivery is in the history, and in its
// file before the answer.
func TestHistory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "history.jsonl")
	w := setup(t, githubsim.Options{HistoryFile: file})
	w.idle()
	c, err := w.comment("hello")
	check(t, err)
	w.idle()
	var onDisk []githubsim.Record
	f, err := os.Open(file)
	check(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r githubsim.Record
		check(t, json.Unmarshal(lines.Bytes(), &r))
		onDisk = append(onDisk, r)
	}
	check(t, lines.Err())
	if diff := cmp.Diff(w.hub.History(), onDisk, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("file and memory differ (-memory +file):\n%s", diff)
	}
	var found, delivered bool
	for _, r := range onDisk {
		if r.Method == http.MethodPost && r.Path == "/repos/acme/widget/issues/1/comments" {
			found = r.Status == http.StatusCreated && strings.HasPrefix(r.Target, "comment ") && string(r.Body) == `{"body":"hello"}`
		}
		delivered = delivered || r.Kind == "delivery" && r.Event == "issue_comment" && r.GUID != "" && r.Status == http.StatusOK &&
			r.Repo == "acme/widget" && r.Issue == 1 && r.Sender != "" && r.Text == "hello"
		if strings.Contains(string(r.Body), "ghs_") || r.Method == http.MethodGet {
			t.Errorf("record %+v", r)
		}
	}
	if !found || !delivered {
		t.Errorf("comment %d: request found %v, delivery found %v in %+v", c.GetID(), found, delivered, onDisk)
	}
}
