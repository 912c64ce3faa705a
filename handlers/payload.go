package handlers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// payload is the part of an event that yudai reads
// (https://docs.github.com/en/webhooks/webhook-events-and-payloads). Only these
// fields are decoded, so that a surprise elsewhere in a payload loses no event.
type payload struct {
	Action string `json:"action"`
	Label  struct {
		Name string `json:"name"`
	} `json:"label"`
	Assignee user `json:"assignee"` // of issues.assigned
	Issue    struct {
		Number      int             `json:"number"`
		State       string          `json:"state"`
		Title       string          `json:"title"`
		Body        string          `json:"body"`
		User        user            `json:"user"`
		Updated     string          `json:"updated_at"`
		PullRequest json.RawMessage `json:"pull_request"`
	} `json:"issue"`
	Comment struct {
		ID   int64           `json:"id"`
		Body string          `json:"body"`
		User user            `json:"user"`
		App  json.RawMessage `json:"performed_via_github_app"`
		Tie  string          `json:"author_association"`

		Created string `json:"created_at"`
	} `json:"comment"`
	Repository struct {
		ID            int64  `json:"id"`
		Name          string `json:"name"`
		DefaultBranch string `json:"default_branch"`
		Owner         user   `json:"owner"`
	} `json:"repository"`
	CheckRun struct {
		ExternalID string `json:"external_id"`
		App        app    `json:"app"`
	} `json:"check_run"`
	RequestedAction struct {
		Identifier string `json:"identifier"`
	} `json:"requested_action"`
	CheckSuite struct {
		HeadBranch string `json:"head_branch"`
		HeadSHA    string `json:"head_sha"`
		App        app    `json:"app"`
	} `json:"check_suite"`
	PullRequest struct {
		Number int  `json:"number"`
		User   user `json:"user"`
		Merged bool `json:"merged"`

		Body     string `json:"body"`
		MergedAt string `json:"merged_at"`
	} `json:"pull_request"`
	Review struct {
		ID    int64  `json:"id"`
		State string `json:"state"`
		Body  string `json:"body"`
		User  user   `json:"user"`
		Tie   string `json:"author_association"`

		Submitted string `json:"submitted_at"`
	} `json:"review"`
	Removed []struct {
		ID int64 `json:"id"`
	} `json:"repositories_removed"`
	Installation struct {
		ID      int64 `json:"id"`
		Account user  `json:"account"` // in events about the installation itself
	} `json:"installation"`
	Sender user `json:"sender"`
}

type app struct {
	ID int64 `json:"id"`
}

type user struct {
	Login string `json:"login"`
	Type  string `json:"type"`
}

func decode(raw []byte) (payload, error) {
	var p payload
	if err := json.Unmarshal(raw, &p); err != nil {
		return payload{}, fmt.Errorf("%w: %w", ErrPayload, err)
	}
	return p, nil
}

// checkIssue reports the first field without which nothing can be done about an issue.
func (p payload) checkIssue() error {
	if err := p.checkRepo(); err != nil {
		return err
	}
	return lacks("issue.number", p.Issue.Number <= 0)
}

func (p payload) checkComment() error {
	return cmp.Or(p.checkIssue(), lacks("comment.id", p.Comment.ID <= 0))
}

// checkPull is checkIssue for events that belong to a pull request.
func (p payload) checkPull() error {
	return cmp.Or(p.checkRepo(), lacks("pull_request.number", p.PullRequest.Number <= 0))
}

// checkRepo is checkIssue for events that belong to a repository and no issue.
func (p payload) checkRepo() error {
	return cmp.Or(
		lacks("repository.id", p.Repository.ID <= 0),
		lacks("repository.name", p.Repository.Name == ""),
		lacks("repository.owner.login", p.Repository.Owner.Login == ""),
		lacks("sender.login", p.Sender.Login == ""),
	)
}

// checkInstallation is checkIssue for events about an installation, which belong to
// no repository.
func (p payload) checkInstallation() error {
	return cmp.Or(lacks("installation.id", p.Installation.ID <= 0), lacks("sender.login", p.Sender.Login == ""))
}

func lacks(field string, missing bool) error {
	if !missing {
		return nil
	}
	return fmt.Errorf("%w: no %s", ErrPayload, field)
}

// fromBot says whether a program caused the event: our own app, another one, or one
// that acts in a person's name. Programs answering programs never end.
func (p payload) fromBot(own string) bool {
	for _, u := range []user{p.Sender, p.Comment.User, p.Review.User} {
		if u.Type == "Bot" || u.is(own) {
			return true
		}
	}
	return present(p.Comment.App)
}

// byStranger says whether GitHub knows no tie of the author to the repository. Comments and
// reviews tell it; nothing else can be done without rights.
func (p payload) byStranger() bool {
	tie := cmp.Or(p.Comment.Tie, p.Review.Tie)
	return tie != "" && !slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, tie)
}

// is compares logins; nobody is "".
func (u user) is(login string) bool { return login != "" && strings.EqualFold(u.Login, login) }

// onPull says whether the thread belongs to a pull request.
func (p payload) onPull() bool { return present(p.Issue.PullRequest) }

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (p payload) repo() solve.Repo {
	return solve.Repo{
		Installation:  p.Installation.ID,
		ID:            p.Repository.ID,
		Owner:         p.Repository.Owner.Login,
		Name:          p.Repository.Name,
		DefaultBranch: p.Repository.DefaultBranch,
	}
}

// queued is a new solve of the payload's issue, its text pinned as the event had it.
func (p payload) queued(id solve.ID, t solve.Trigger, r solve.Request) *solve.Solve {
	return &solve.Solve{
		V:    1,
		ID:   id,
		Repo: p.repo(),
		Issue: solve.Issue{
			Number: p.Issue.Number, Title: p.Issue.Title, Body: p.Issue.Body, Author: p.Issue.User.Login,
		}.Pinned(),
		Trigger: t,
		Request: r,
		State:   solve.StateQueued,
		Created: t.At,
	}
}

// command is one on the payload's issue.
func (p payload) command(d solve.Delivery, kind solve.CommandKind, text string) *solve.Command {
	return &solve.Command{
		ID: d.GUID, Kind: kind, Repo: p.repo(), Issue: p.Issue.Number, Actor: p.Sender.Login,
		Stranger: p.byStranger(), CommentID: p.Comment.ID, Text: text, At: d.Received,
	}
}

// button is what somebody asked for at one of our check runs, or at all of a commit's.
func (p payload) button(d solve.Delivery, kind solve.CommandKind, id solve.ID) *solve.Command {
	c := p.command(d, kind, "")
	c.Solve, c.Button = id, true
	return c
}

// stopAll stops what an installation has at work. Its event names the account and no repository.
func (p payload) stopAll(d solve.Delivery, stop solve.StopEvent) *solve.Command {
	c := p.command(d, solve.CommandStop, "")
	c.Repo = solve.Repo{Installation: p.Installation.ID, Owner: p.Installation.Account.Login}
	c.Stop = stop
	return c
}
