package ghapp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// cutNote ends a text that was cut.
	cutNote = "*The rest is left out: GitHub accepts no longer text.*\n"
	// skew allows for clocks that differ when comments are listed by time.
	skew = 10 * time.Minute
)

// react adds the reaction to the comment or the issue. GitHub keeps one of each
// kind per account and answers 200 for the second, so nothing needs a look-up.
func (t *writeTry) react(ctx context.Context) (solve.Receipt, error) {
	repo := t.e.Repo
	var made *github.Reaction
	err := t.idempotent(ctx, "react", func(ctx context.Context, c *github.Client) (err error) {
		if t.e.CommentID != 0 {
			made, _, err = c.Reactions.CreateIssueCommentReaction(ctx, repo.Owner, repo.Name, t.e.CommentID, t.e.Text)
			return err
		}
		made, _, err = c.Reactions.CreateIssueReaction(ctx, repo.Owner, repo.Name, t.e.Issue, t.e.Text)
		return err
	})
	if statusOf(err) == http.StatusNotFound && t.targetGone(ctx) {
		err = permanent("what it reacts to is gone")
	}
	if err != nil {
		return solve.Receipt{}, err
	}
	return solve.Receipt{ID: made.GetID()}, nil
}

// targetGone looks whether what was not found is there all the same. For people without
// rights nobody looks.
func (t *writeTry) targetGone(ctx context.Context) bool {
	repo := t.e.Repo
	if t.e.Priority >= solve.PriorityDenied {
		return true
	}
	err := t.read(ctx, "look for what it reacts to", func(ctx context.Context, c *github.Client) (err error) {
		if t.e.CommentID != 0 {
			_, _, err = c.Issues.GetComment(ctx, repo.Owner, repo.Name, t.e.CommentID)
			return err
		}
		_, _, err = c.Issues.Get(ctx, repo.Owner, repo.Name, t.e.Issue)
		return err
	})
	return statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusGone
}

// comment writes one of our comments: the progress, edited in place, the
// result, or a reply.
func (t *writeTry) comment(ctx context.Context) (solve.Receipt, error) {
	if err := t.nameChecks(ctx); err != nil {
		return solve.Receipt{}, err
	}
	return put(ctx, t, t.singleComment())
}

// singleComment is the comment of the effect, as it is to be now.
func (t *writeTry) singleComment() single[*github.IssueComment] {
	marker, text := t.commentText()
	body := report.CutMarkdown(text, report.MaxComment, cutNote)
	if !hasMarker(body, marker) {
		body = marker + "\n" + body
	}
	return single[*github.IssueComment]{
		find:    func(ctx context.Context) ([]*github.IssueComment, error) { return t.findComments(ctx, marker) },
		create:  func(ctx context.Context) (*github.IssueComment, error) { return t.postComment(ctx, body) },
		edit:    func(ctx context.Context, id int64) (solve.Receipt, error) { return t.editComment(ctx, id, body) },
		current: func(c *github.IssueComment) bool { return c.GetBody() == body },
		receipt: commentReceipt,
		remove:  t.deleteComment,
	}
}

func commentReceipt(c *github.IssueComment) solve.Receipt {
	return solve.Receipt{ID: c.GetID(), URL: c.GetHTMLURL()}
}

// nameChecks tells a result where the check runs are.
func (t *writeTry) nameChecks(ctx context.Context) error {
	if t.e.Kind != solve.EffectFinal {
		return nil
	}
	check, err := t.w.store.Effect(ctx, string(t.e.Solve)+"/"+string(solve.EffectCheck))
	if errors.Is(err, solve.ErrNotFound) {
		return nil
	}
	t.view.Checks = check.Receipt.URL
	return err
}

// commentText renders the newest text and names its marker.
func (t *writeTry) commentText() (marker, text string) {
	owner, _, _ := strings.Cut(t.e.Key, "/") // a command has no solve
	switch {
	case t.e.Kind == solve.EffectNotice:
		owner, text = string(t.e.Solve), report.ProgressComment(t.view)
	case t.e.Kind == solve.EffectFinal:
		owner, text = string(t.e.Solve), report.FinalComment(t.view)
	case t.e.Text == "":
		text = report.RefusalText(t.view)
	default:
		text = t.e.Text
	}
	return solve.Marker(owner, string(t.e.Kind)), text
}

func (t *writeTry) postComment(ctx context.Context, body string) (*github.IssueComment, error) {
	repo := t.e.Repo
	made, err := get(ctx, t.nonIdempotent, "comment",
		func(ctx context.Context, c *github.Client) (*github.IssueComment, *github.Response, error) {
			made, resp, err := c.Issues.CreateComment(ctx, repo.Owner, repo.Name, t.e.Issue, &github.IssueComment{Body: &body})
			return made, resp, complete(err, made.GetID() != 0, "comment")
		})
	if statusOf(err) == http.StatusForbidden && mentions(err, "locked") {
		err = permanent("the issue is locked")
	}
	return made, err
}

func (t *writeTry) editComment(ctx context.Context, id int64, body string) (solve.Receipt, error) {
	repo := t.e.Repo
	edited, err := get(ctx, t.idempotent, "edit the comment",
		func(ctx context.Context, c *github.Client) (*github.IssueComment, *github.Response, error) {
			return c.Issues.EditComment(ctx, repo.Owner, repo.Name, id, &github.IssueComment{Body: &body})
		})
	if err != nil {
		return solve.Receipt{}, err
	}
	return solve.Receipt{ID: id, URL: edited.GetHTMLURL()}, nil
}

// deleteComment deletes a second comment with the same marker.
func (t *writeTry) deleteComment(ctx context.Context, extra *github.IssueComment) error {
	repo := t.e.Repo
	err := t.idempotent(ctx, "delete a second comment", func(ctx context.Context, c *github.Client) error {
		_, err := c.Issues.DeleteComment(ctx, repo.Owner, repo.Name, extra.GetID())
		return err
	})
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// hasMarker says whether a text begins with the marker.
func hasMarker(text, marker string) bool {
	id, kind, ok := solve.FindMarker(text)
	return ok && solve.Marker(id, kind) == marker
}

// findComments lists the comments of the issue that carry the marker and were
// written by our bot: anybody can copy a marker.
func (t *writeTry) findComments(ctx context.Context, marker string) ([]*github.IssueComment, error) {
	if failpoint.Mutated(failpoint.NoLookup) {
		return nil, nil
	}
	who, err := t.w.app.Identity(ctx)
	if err != nil {
		return nil, err
	}
	repo, opts := t.e.Repo, github.IssueListCommentsOptions{}
	if since := t.since(); !since.IsZero() {
		opts.Since = &since
	}
	found, err := list(ctx, t.read, "list comments",
		func(ctx context.Context, c *github.Client, page github.ListOptions) ([]*github.IssueComment, *github.Response, error) {
			opts.ListOptions = page
			return c.Issues.ListComments(ctx, repo.Owner, repo.Name, t.e.Issue, &opts)
		})
	return slices.DeleteFunc(found, func(c *github.IssueComment) bool {
		return !hasMarker(c.GetBody(), marker) || !strings.EqualFold(c.GetUser().GetLogin(), who.Bot)
	}), err
}

// since is the earliest time one of our comments for the effect can be from.
func (t *writeTry) since() time.Time {
	at := t.view.Solve.Created
	if t.e.Solve == "" {
		if !t.e.SentAt.IsZero() {
			return time.Time{} // a command does not say when it came, and a store that was restored forgot
		}
		at = t.w.app.now()
	}
	return at.Add(-skew).UTC().Truncate(time.Second)
}
