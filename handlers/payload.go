package handlers

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

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
	Issue struct {
		Number      int             `json:"number"`
		State       string          `json:"state"`
		Title       string          `json:"title"`
		Body        string          `json:"body"`
		User        user            `json:"user"`
		PullRequest json.RawMessage `json:"pull_request"`
	} `json:"issue"`
	Comment struct {
		ID   int64           `json:"id"`
		Body string          `json:"body"`
		User user            `json:"user"`
		App  json.RawMessage `json:"performed_via_github_app"`
	} `json:"comment"`
	Repository struct {
		ID            int64  `json:"id"`
		Name          string `json:"name"`
		DefaultBranch string `json:"default_branch"`
		Owner         user   `json:"owner"`
	} `json:"repository"`
	Installation struct {
		ID int64 `json:"id"`
	} `json:"installation"`
	Sender user `json:"sender"`
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

// check reports the first field without which nothing can be done.
func (p payload) check() error {
	missing := ""
	switch {
	case p.Repository.ID <= 0:
		missing = "repository.id"
	case p.Repository.Name == "":
		missing = "repository.name"
	case p.Repository.Owner.Login == "":
		missing = "repository.owner.login"
	case p.Issue.Number <= 0:
		missing = "issue.number"
	case p.Sender.Login == "":
		missing = "sender.login"
	default:
		return nil
	}
	return fmt.Errorf("%w: no %s", ErrPayload, missing)
}

// fromBot says whether a program caused the event: our own app, another one, or one
// that acts in a person's name. Programs answering programs never end.
func (p payload) fromBot(own string) bool {
	for _, u := range []user{p.Sender, p.Comment.User} {
		if u.Type == "Bot" || (own != "" && strings.EqualFold(u.Login, own)) {
			return true
		}
	}
	return present(p.Comment.App)
}

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

func (p payload) ask(guid string, kind solve.AskKind, text string, at time.Time) *solve.Ask {
	return &solve.Ask{
		ID: guid, Kind: kind, Repo: p.repo(), Issue: p.Issue.Number, Actor: p.Sender.Login,
		CommentID: p.Comment.ID, Text: text, At: at,
	}
}
