package githubsim_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

// A deleted issue is gone (410); a transferred one sends callers to its new place,
// where a token that does not reach it finds nothing.
func TestDeletedAndTransferredIssues(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx := t.Context()
	status := func(number int) int {
		_, resp, err := w.client.Issues.Get(ctx, owner, name, number)
		if err == nil || resp == nil {
			t.Fatalf("issue %d: %v", number, err)
		}
		return resp.StatusCode
	}
	deleted, err := w.hub.OpenIssue(full, maya, "to be deleted", "")
	check(t, err)
	moved, err := w.hub.OpenIssue(full, maya, "to be moved", "")
	check(t, err)
	check(t, w.hub.DeleteIssue(full, deleted, maya))
	if got := status(deleted); got != http.StatusGone {
		t.Errorf("a deleted issue answers %d", got)
	}
	other, err := w.hub.CreateRepo(owner, "elsewhere", nil)
	check(t, err)
	there, err := w.hub.TransferIssue(full, moved, maya, other.FullName())
	check(t, err)
	if i, _, err := w.client.Issues.Get(ctx, owner, name, moved); err != nil || i.GetNumber() != there || i.GetTitle() != "to be moved" {
		t.Errorf("a moved issue, for an app that may read its new place: %v, %v", i, err)
	}
	if _, _, err := w.install(&github.InstallationTokenOptions{Repositories: []string{name}}).Issues.Get(ctx, owner, name, moved); err == nil {
		t.Error("a token for the old repository read the new one")
	}
	if i, err := w.hub.Issue(other.FullName(), there); err != nil || i.Title != "to be moved" {
		t.Errorf("at its new place: %+v, %v", i, err)
	}
	if _, err := w.hub.TransferIssue(full, 999, maya, other.FullName()); !errors.Is(err, githubsim.ErrNotFound) {
		t.Errorf("transfer of nothing: %v", err)
	}
}
