package ghapp

import (
	"context"
	"slices"
	"strings"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// trailer is the line by which a commit says to which solve it belongs.
const trailer = "Yudai-Solve: "

// reservationSubject begins the message of a reservation's commit, and of no champion's.
const reservationSubject = "yudai: claim for #"

func hasTrailer(message string, id solve.ID) bool {
	return slices.ContainsFunc(strings.Split(message, "\n"), func(line string) bool {
		return strings.TrimSpace(line) == trailer+string(id)
	})
}

// withTrailer adds the trailer to the message's last paragraph if that holds
// trailers, else as a paragraph of its own.
func withTrailer(message string, id solve.ID) string {
	message = strings.TrimRight(message, "\n")
	if hasTrailer(message, id) {
		return message
	}
	gap := "\n\n"
	if i := strings.LastIndex(message, gap); i >= 0 && !slices.ContainsFunc(strings.Split(message[i+2:], "\n"), isProse) {
		gap = "\n"
	}
	return message + gap + trailer + string(id)
}

// isProse says whether a line is no trailer.
func isProse(line string) bool {
	key, _, found := strings.Cut(line, ": ")
	return !found || strings.ContainsAny(key, " \t")
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
