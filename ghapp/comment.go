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
	err := a.keyed(ctx, call{"react", func(ctx context.Context, c *github.Client) (err error) {
		if a.e.CommentID != 0 {
			made, _, err = c.Reactions.CreateIssueCommentReaction(ctx, repo.Owner, repo.Name, a.e.CommentID, a.e.Text)
			return err
		}
		made, _, err = c.Reactions.CreateIssueReaction(ctx, repo.Owner, repo.Name, a.e.Issue, a.e.Text)
		return err
	}})
	if err != nil {
		return solve.Receipt{}, err
	}
	return solve.Receipt{ID: made.GetID()}, nil
}

// comment writes one of our comments: the progress, edited in place, the
// result, or a reply. GitHub has no key for comments, so each carries a marker.
func (a *attempt) comment(ctx context.Context) (solve.Receipt, error) {
	if err := a.nameChecks(ctx); err != nil {
		return solve.Receipt{}, err
	}
	m, text := a.commentText()
	body := m.on(solve.CutMarkdown(text, solve.MaxComment, cutNote))
	if a.e.Receipt.ID != 0 {
		r, err := a.edit(ctx, a.e.Receipt.ID, body)
		if statusOf(err) != http.StatusNotFound {
			return r, err
		}
		if a.w.app.now().Before(a.e.Done.Add(a.w.cfg.Settle)) {
			return r, err // made moments ago: GitHub may not see it everywhere yet
		}
		a.unknown = true // deleted, or made anew by a try that was cut: look first
	}
	if a.unknown {
		found, err := a.findComments(ctx, m)
		if err != nil {
			return solve.Receipt{}, err
		}
		if len(found) > 0 {
			return a.keepOldest(ctx, found, body)
		}
		a.unknown = false
	}
	return a.postComment(ctx, m, body)
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
		return markOf(string(a.e.Solve), a.e.Kind), solve.ProgressComment(a.view)
	case solve.EffectFinal:
		return markOf(string(a.e.Solve), a.e.Kind), solve.FinalComment(a.view)
	default:
		owner, _, _ := strings.Cut(a.e.Key, "/") // an ask has no solve
		return markOf(owner, a.e.Kind), a.e.Text
	}
}

// postComment creates the comment and verifies once that it is the only one: a
// call given up as lost may have come through after all.
func (a *attempt) postComment(ctx context.Context, m mark, body string) (solve.Receipt, error) {
	repo := a.e.Repo
	var made *github.IssueComment
	err := a.create(ctx, call{"comment", func(ctx context.Context, c *github.Client) (err error) {
		made, _, err = c.Issues.CreateComment(ctx, repo.Owner, repo.Name, a.e.Issue, &github.IssueComment{Body: &body})
		if err == nil && made.GetID() == 0 {
			return malformed("comment")
		}
		return err
	}})
	if statusOf(err) == http.StatusForbidden && says(err, "locked") {
		return solve.Receipt{}, dead("the issue is locked")
	}
	if err != nil {
		return solve.Receipt{}, err
	}
	found, err := a.findComments(ctx, m)
	if err != nil {
		return solve.Receipt{}, err // the next try finds it by its marker
	}
	if !slices.ContainsFunc(found, func(c *github.IssueComment) bool { return c.GetID() == made.GetID() }) {
		found = append(found, made) // lists lag
	}
	if len(found) == 1 {
		return solve.Receipt{ID: made.GetID(), URL: made.GetHTMLURL()}, nil
	}
	return a.keepOldest(ctx, found, body)
}

func (a *attempt) edit(ctx context.Context, id int64, body string) (solve.Receipt, error) {
	repo := a.e.Repo
	var edited *github.IssueComment
	err := a.keyed(ctx, call{"edit the comment", func(ctx context.Context, c *github.Client) (err error) {
		edited, _, err = c.Issues.EditComment(ctx, repo.Owner, repo.Name, id, &github.IssueComment{Body: &body})
		return err
	}})
	if err != nil {
		return solve.Receipt{}, err
	}
	return solve.Receipt{ID: id, URL: edited.GetHTMLURL()}, nil
}

// keepOldest makes the oldest of our comments with the marker the one, and
// deletes the others.
func (a *attempt) keepOldest(ctx context.Context, found []*github.IssueComment, body string) (solve.Receipt, error) {
	oldest := found[0]
	for _, c := range found[1:] {
		if c.GetID() < oldest.GetID() {
			oldest = c
		}
	}
	receipt := solve.Receipt{ID: oldest.GetID(), URL: oldest.GetHTMLURL()}
	if oldest.GetBody() != body {
		var err error
		if receipt, err = a.edit(ctx, oldest.GetID(), body); err != nil {
			return solve.Receipt{}, err
		}
	}
	if err := a.deleteOthers(ctx, found, oldest.GetID()); err != nil {
		return solve.Receipt{}, err
	}
	return receipt, nil
}

// deleteOthers leaves one of our comments with the same marker.
func (a *attempt) deleteOthers(ctx context.Context, found []*github.IssueComment, keep int64) error {
	repo := a.e.Repo
	for _, extra := range found {
		if extra.GetID() == keep {
			continue
		}
		err := a.keyed(ctx, call{"delete a second comment", func(ctx context.Context, c *github.Client) error {
			_, err := c.Issues.DeleteComment(ctx, repo.Owner, repo.Name, extra.GetID())
			return err
		}})
		if err != nil && statusOf(err) != http.StatusNotFound {
			return err
		}
	}
	return nil
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
	repo := a.e.Repo
	since := a.since()
	opts := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: 100}}
	if !since.IsZero() {
		opts.Since = &since
	}
	var found []*github.IssueComment
	for {
		var page []*github.IssueComment
		var resp *github.Response
		err := a.read(ctx, call{"list comments", func(ctx context.Context, c *github.Client) (err error) {
			page, resp, err = c.Issues.ListComments(ctx, repo.Owner, repo.Name, a.e.Issue, opts)
			return err
		}})
		if err != nil {
			return nil, err
		}
		for _, c := range page {
			if m.in(c.GetBody()) && strings.EqualFold(c.GetUser().GetLogin(), who.Bot) {
				found = append(found, c)
			}
		}
		if resp.NextPage == 0 {
			return found, nil
		}
		opts.Page = resp.NextPage
	}
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
