//go:build failpoints

package failpoint

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDueOnceAndLogged(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "hits")
	env := map[string]string{"YUDAI_FAILPOINT": "b=stall@2", "YUDAI_FAILPOINT_STALL": "3s", "YUDAI_FAILPOINT_LOG": log}
	p, err := load(func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	if p.stall != 3*time.Second {
		t.Errorf("stall is %s", p.stall)
	}
	var due []int
	for i, name := range []string{"a", "b", "a", "b", "b"} {
		if p.due(name) {
			due = append(due, i)
		}
	}
	if len(due) != 1 || due[0] != 3 {
		t.Errorf("due at hits %v, want only the second b", due)
	}
	got, err := os.ReadFile(log)
	if want := "a@1\nb@1\na@2\nb@2\nb@3\n"; err != nil || string(got) != want {
		t.Errorf("log %q, %v; want %q", got, err, want)
	}
}

func TestBadEnvironment(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{
		{"YUDAI_FAILPOINT": "nonsense"},
		{"YUDAI_FAILPOINT_STALL": "long"},
		{"YUDAI_FAILPOINT_LOG": "/nowhere/at/all"},
	} {
		if _, err := load(func(k string) string { return env[k] }); err == nil {
			t.Errorf("%v was taken", env)
		}
	}
}

func TestPathKind(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/repos/octo/project":                                        "repository",
		"/repos/octo/project/issues/7/comments":                      "issues-comments",
		"/repos/octo/project/git/ref/heads/ai/fix-1-x":               "git-ref-heads",
		"/repos/octo/project/commits/" + sha + "/check-runs":         "commits-check-runs",
		"/repos/octo/project/collaborators/alice/permission":         "collaborators-permission",
		"/api/v3/app/installations/3/access_tokens":                  "app-installations-access_tokens",
		"/users/yudai[bot]":                                          "users",
		"/v1/chat/completions":                                       "v1-chat-completions",
		"/repos/octo/project/rules/branches/ai":                      "rules-branches-ai",
		"/repos/octo/project/git/refs/heads/ai/fix-1-aaaaaaaaaaaaaa": "git-refs-heads",
	} {
		if got := pathKind(path); got != want {
			t.Errorf("pathKind(%q) = %q, want %q", path, got, want)
		}
	}
}

const sha = "0123456789012345678901234567890123456789"
