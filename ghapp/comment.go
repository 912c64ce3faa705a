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
	cutNote = "*Cut here: the text is too long for GitHub.*\n"
	// skew allows for clocks that differ when comments are listed by time.
	skew = 10 * time.Minute
)

// react adds the reaction to the comment or the issue. GitHub keeps one of each
// kind per account and answers 200 for the second, so nothing needs a look-up.
func (a *attempt) react(ctx context.Context) (solve.Receipt, error) {
	repo := a.e.Repo
	var made *github.Reaction
	err := a.keyed(ctx, "react", func(ctx context.Context, c *github.Client) (err error) {
		if a.e.CommentID != 0 {
			made, _, err = c.Reactions.CreateIssueCommentReaction(ctx, repo.Owner, repo.Name, a.e.CommentID, a.e.Text)
			return err
		}
		made, _, err = c.Reactions.CreateIssueReaction(ctx, repo.Owner, repo.Name, a.e.Issue, a.e.Text)
		return err
	})
	if err != nil {
		return solve.Receipt{}, err
	}
	return solve.Receipt{ID: made.GetID()}, nil
}

// comment writes one of our comments: the progress, edited in place, the
// result, or a reply.
func (a *attempt) comment(ctx context.Context) (solve.Receipt, error) {
	if err := a.nameChecks(ctx); err != nil {
		return solve.Receipt{}, err
	}
	return put(ctx, a, a.singleComment())
}

// singleComment is the comment of the effect, as it is to be now.
func (a *attempt) singleComment() single[*github.IssueComment] {
	m, text := a.commentText()
	body := m.on(report.CutMarkdown(text, report.MaxComment, cutNote))
	return single[*github.IssueComment]{
		find:    func(ctx context.Context) ([]*github.IssueComment, error) { return a.findComments(ctx, m) },
		create:  func(ctx context.Context) (*github.IssueComment, error) { return a.postComment(ctx, body) },
		edit:    func(ctx context.Context, id int64) (solve.Receipt, error) { return a.editComment(ctx, id, body) },
		current: func(c *github.IssueComment) bool { return c.GetBody() == body },
		receipt: commentReceipt,
		remove:  a.deleteComment,
	}
}

func commentReceipt(c *github.IssueComment) solve.Receipt {
	return solve.Receipt{ID: c.GetID(), URL: c.GetHTMLURL()}
}

// nameChecks tells a result where the check runs are.
func (a *attempt) nameChecks(ctx context.Context) error {
	if a.e.Kind != solve.EffectFinal {
		return nil
	}
	check, err := a.w.store.Effect(ctx, string(a.e.Solve)+"/"+string(solve.EffectCheck))
	if errors.Is(err, solve.ErrNotFound) {
		return nil
	}
	a.view.Checks = check.Receipt.URL
	return err
}

// commentText renders the newest text and names its marker.
func (a *attempt) commentText() (mark, string) {
	switch a.e.Kind {
	case solve.EffectNotice:
		return markOf(string(a.e.Solve), a.e.Kind), report.ProgressComment(a.view)
	case solve.EffectFinal:
		return markOf(string(a.e.Solve), a.e.Kind), report.FinalComment(a.view)
	default:
		owner, _, _ := strings.Cut(a.e.Key, "/") // an ask has no solve
		if a.e.Text == "" {
			return markOf(owner, a.e.Kind), report.RefusalText(a.view)
		}
		return markOf(owner, a.e.Kind), a.e.Text
	}
}

func (a *attempt) postComment(ctx context.Context, body string) (*github.IssueComment, error) {
	repo := a.e.Repo
	made, err := get(ctx, a.create, "comment", func(ctx context.Context, c *github.Client) (*github.IssueComment, *github.Response, error) {
		made, resp, err := c.Issues.CreateComment(ctx, repo.Owner, repo.Name, a.e.Issue, &github.IssueComment{Body: &body})
		return made, resp, whole(err, made.GetID() != 0, "comment")
	})
	if statusOf(err) == http.StatusForbidden && says(err, "locked") {
		err = dead("the issue is locked")
	}
	return made, err
}

func (a *attempt) editComment(ctx context.Context, id int64, body string) (solve.Receipt, error) {
	repo := a.e.Repo
	edited, err := get(ctx, a.keyed, "edit the comment",
		func(ctx context.Context, c *github.Client) (*github.IssueComment, *github.Response, error) {
			return c.Issues.EditComment(ctx, repo.Owner, repo.Name, id, &github.IssueComment{Body: &body})
		})
	if err != nil {
		return solve.Receipt{}, err
	}
	return solve.Receipt{ID: id, URL: edited.GetHTMLURL()}, nil
}

// deleteComment deletes a second comment with the same marker.
func (a *attempt) deleteComment(ctx context.Context, extra *github.IssueComment) error {
	repo := a.e.Repo
	err := a.keyed(ctx, "delete a second comment", func(ctx context.Context, c *github.Client) error {
		_, err := c.Issues.DeleteComment(ctx, repo.Owner, repo.Name, extra.GetID())
		return err
	})
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// mark is the marker of one of our texts, as it is read back.
type mark struct{ id, kind string }

func markOf(owner string, kind solve.EffectKind) mark {
	id, k, _ := solve.FindMarker(solve.Marker(owner, string(kind)))
	return mark{id: id, kind: k}
}

// in says whether a text carries the mark.
func (m mark) in(text string) bool {
	id, kind, ok := solve.FindMarker(text)
	return ok && id == m.id && kind == m.kind
}

// on puts the mark on a text that does not carry it.
func (m mark) on(text string) string {
	if m.in(text) {
		return text
	}
	return solve.Marker(m.id, m.kind) + "\n" + text
}

// findComments lists the comments of the issue that carry the marker and were
// written by our bot: anybody can copy a marker.
func (a *attempt) findComments(ctx context.Context, m mark) ([]*github.IssueComment, error) {
	if failpoint.Mutated(failpoint.NoLookup) {
		return nil, nil
	}
	who, err := a.w.app.Identity(ctx)
	if err != nil {
		return nil, err
	}
	repo, opts := a.e.Repo, github.IssueListCommentsOptions{}
	if since := a.since(); !since.IsZero() {
		opts.Since = &since
	}
	found, err := list(ctx, a.read, "list comments",
		func(ctx context.Context, c *github.Client, page github.ListOptions) ([]*github.IssueComment, *github.Response, error) {
			opts.ListOptions = page
			return c.Issues.ListComments(ctx, repo.Owner, repo.Name, a.e.Issue, &opts)
		})
	return slices.DeleteFunc(found, func(c *github.IssueComment) bool {
		return !m.in(c.GetBody()) || !strings.EqualFold(c.GetUser().GetLogin(), who.Bot)
	}), err
}

// since is the earliest time one of our comments for the effect can be from.
func (a *attempt) since() time.Time {
	at := a.view.Solve.Created
	if a.e.Solve == "" {
		if !a.e.SentAt.IsZero() {
			return time.Time{} // an ask does not say when it came, and a store that was restored forgot
		}
		at = a.w.app.now()
	}
	return at.Add(-skew).UTC().Truncate(time.Second)
}
