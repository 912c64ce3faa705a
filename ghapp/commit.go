package ghapp

import (
	"context"
	"strings"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// trailer is the line by which a commit says to which solve it belongs.
const trailer = "Yudai-Solve: "

// reservationSubject begins the message of a reservation's commit, and of no champion's.
const reservationSubject = "yudai: claim for #"

func hasTrailer(message string, id solve.ID) bool {
	for line := range strings.Lines(message) {
		if strings.TrimSpace(line) == trailer+string(id) {
			return true
		}
	}
	return false
}

// withTrailer adds the trailer to the message's last paragraph if that holds
// trailers, else as a paragraph of its own.
func withTrailer(message string, id solve.ID) string {
	message = strings.TrimRight(message, "\n")
	if hasTrailer(message, id) {
		return message
	}
	_, last, found := cutLast(message, "\n\n")
	gap := "\n"
	if !found {
		gap = "\n\n"
	}
	for line := range strings.Lines(last) {
		key, _, ok := strings.Cut(line, ": ")
		if !ok || strings.ContainsAny(key, " \t") {
			gap = "\n\n"
		}
	}
	return message + gap + trailer + string(id)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// isReservation says whether a commit is the branch reservation of the solve.
func isReservation(c *github.Commit, id solve.ID) bool {
	return hasTrailer(c.GetMessage(), id) && strings.HasPrefix(c.GetMessage(), reservationSubject)
}

// isChampion says whether a commit is the champion's of the solve.
func isChampion(c *github.Commit, id solve.ID) bool {
	return hasTrailer(c.GetMessage(), id) && !isReservation(c, id)
}

func (t *writeTry) commitOf(ctx context.Context, sha string) (*github.Commit, error) {
	return readCommit(ctx, t.read, t.e.Repo, sha)
}

// newCommit leaves author, committer and signature out: GitHub then signs the
// commit as the App's.
func (t *writeTry) newCommit(ctx context.Context, message, tree, parent string) (string, error) {
	repo := t.e.Repo
	return t.object(ctx, "commit "+tree+" on "+parent, "commit", func(ctx context.Context, c *github.Client) (string, error) {
		commit, _, err := c.Git.CreateCommit(ctx, repo.Owner, repo.Name, &github.Commit{
			Message: &message,
			Tree:    &github.Tree{SHA: &tree},
			Parents: []*github.Commit{{SHA: &parent}},
		}, nil)
		return commit.GetSHA(), err
	})
}

// readCommit reads a commit with its tree.
func readCommit(ctx context.Context, call caller, repo solve.Repo, sha string) (*github.Commit, error) {
	commit, err := get(ctx, call, "read commit "+sha, func(ctx context.Context, c *github.Client) (*github.Commit, *github.Response, error) {
		return c.Git.GetCommit(ctx, repo.Owner, repo.Name, sha)
	})
	if err == nil && (commit.GetSHA() == "" || commit.GetTree().GetSHA() == "") {
		err = malformed("commit")
	}
	return commit, err
}
