package ghapp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
	return t.makeCommit(ctx, message, tree, parent, nil, nil)
}

// Person is whom a commit names. An empty one is yudai itself.
type Person struct{ Name, Email string }

// local is who made the commits of `yudai solve`, where no account exists.
func local() Person { return Person{"yudai", "yudai@localhost"} }

func (p Person) at(now time.Time) *github.CommitAuthor {
	return &github.CommitAuthor{Name: &p.Name, Email: &p.Email, Date: &github.Timestamp{Time: now.UTC().Truncate(time.Second)}}
}

// publishedCommit is a commit that people are to merge. Where the operator wants it, it is signed with
// the key of the bundles. GitHub adds no signature of its own then, and needs to be told the author.
func (t *writeTry) publishedCommit(ctx context.Context, message, tree, parent string) (string, error) {
	now := t.w.app.now()
	if t.w.Committer != nil {
		committer := *t.w.Committer
		if committer == (Person{}) {
			committer = local()
		}
		return t.makeCommit(ctx, message, tree, parent, local().at(now), committer.at(now))
	}
	if t.w.Sign == nil {
		return t.newCommit(ctx, message, tree, parent)
	}
	who, err := t.w.app.Identity(ctx)
	if err != nil {
		return "", err
	}
	bot, err := get(ctx, t.read, "read the App's user", func(ctx context.Context, c *github.Client) (*github.User, *github.Response, error) {
		return c.Users.Get(ctx, who.Bot)
	})
	if err != nil {
		return "", err
	}
	author := Person{who.Bot, fmt.Sprintf("%d+%s@users.noreply.github.com", bot.GetID(), who.Bot)}.at(now)
	return t.makeCommit(ctx, message, tree, parent, author, author)
}

// makeCommit makes a commit, signed if yudai signs; without an author GitHub signs it.
func (t *writeTry) makeCommit(ctx context.Context, message, tree, parent string, author, committer *github.CommitAuthor) (string, error) {
	repo, opts := t.e.Repo, &github.CreateCommitOptions{}
	if author != nil && t.w.Sign != nil {
		opts.Signer = github.MessageSignerFunc(t.w.Sign)
	}
	return t.object(ctx, "commit "+tree+" on "+parent, "commit", func(ctx context.Context, c *github.Client) (string, error) {
		commit, _, err := c.Git.CreateCommit(ctx, repo.Owner, repo.Name, &github.Commit{
			Message: &message, Author: author, Committer: committer,
			Tree:    &github.Tree{SHA: &tree},
			Parents: []*github.Commit{{SHA: &parent}},
		}, opts)
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
