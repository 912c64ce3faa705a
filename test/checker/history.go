package checker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// triggerLabel is the label that asks for a solve, as config.yml has it.
const triggerLabel = "yudai:solve"

// trigger is a webhook that asked for something and was answered with a 2xx.
type trigger struct {
	guid, what string
}

type pull struct {
	number int
	head   string
}

// comment is one that our App wrote, with what its marker says.
type comment struct {
	id          int64
	owner, kind string
	deleted     bool
}

// check is a check run as its last change left it.
type check struct {
	id                        int64
	name, sha, external       string
	status, conclusion, title string
}

type branch struct {
	repo, name string
	deleted    bool
}

// github is what the history says was done.
type github struct {
	acknowledged []trigger
	pulls        []pull
	comments     []*comment
	checks       []*check
	branches     []*branch
}

// readHistory replays the emulator's history file.
func readHistory(path string) (*github, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	g := &github{}
	seen := map[string]bool{}
	lines := bytes.Split(data, []byte("\n"))
	for i, line := range lines[:len(lines)-1] { // what follows the last newline was never finished
		var r githubsim.Record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("read history %s, line %d: %w", path, i+1, err)
		}
		if r.Status < http.StatusOK || r.Status >= http.StatusMultipleChoices {
			continue
		}
		if r.Kind == "delivery" {
			if asks(r) && !seen[r.GUID] {
				seen[r.GUID] = true
				g.acknowledged = append(g.acknowledged, trigger{r.GUID, fmt.Sprintf("%s.%s of %s#%d", r.Event, r.Action, r.Repo, r.Issue)})
			}
			continue
		}
		if err := g.replay(r); err != nil {
			return nil, fmt.Errorf("read history %s, line %d: %w", path, i+1, err)
		}
	}
	return g, nil
}

// asks says whether a delivery asks yudai for something: a person set the label
// or wrote a command.
func asks(r githubsim.Record) bool {
	if strings.HasSuffix(r.Sender, "[bot]") {
		return false
	}
	switch r.Event + "." + r.Action {
	case "issues.labeled":
		return strings.EqualFold(r.Text, triggerLabel)
	case "issue_comment.created":
		return regexp.MustCompile(`(?i)^\s*/yudai(\s|$)`).MatchString(r.Text)
	}
	return false
}

// request is what bodies of the requests that are looked at may hold.
type request struct {
	Body, Head, Ref string
	Name, Status    string
	Conclusion      string
	HeadSHA         string `json:"head_sha"`
	ExternalID      string `json:"external_id"`
	Output          struct{ Title string }
}

// replay takes over one successful request.
func (g *github) replay(r githubsim.Record) error {
	kind, name, _ := strings.Cut(r.Target, " ")
	var q request
	if len(r.Body) > 0 && (kind == "pull" || kind == "comment" || kind == "check" || kind == "ref") {
		if err := json.Unmarshal(r.Body, &q); err != nil {
			return fmt.Errorf("decode body: %w", err)
		}
	}
	id, _ := strconv.ParseInt(name, 10, 64)
	made := r.Method == http.MethodPost
	switch kind {
	case "pull":
		if made {
			g.pulls = append(g.pulls, pull{int(id), q.Head})
		}
	case "comment":
		g.comment(r.Method, id, q)
	case "check":
		g.check(made, id, q)
	case "ref":
		g.ref(r.Method, repoOf(r.Path), strings.TrimPrefix(name, "refs/heads/"))
	}
	return nil
}

func (g *github) comment(method string, id int64, q request) {
	if method == http.MethodPost {
		c := &comment{id: id}
		c.owner, c.kind, _ = solve.FindMarker(q.Body)
		g.comments = append(g.comments, c)
		return
	}
	for _, c := range g.comments {
		if c.id == id && method == http.MethodDelete {
			c.deleted = true
		}
	}
}

func (g *github) check(made bool, id int64, q request) {
	if made {
		g.checks = append(g.checks, &check{id: id, sha: q.HeadSHA})
	}
	for _, c := range g.checks {
		if c.id != id {
			continue
		}
		for _, f := range []struct {
			to   *string
			from string
		}{{&c.name, q.Name}, {&c.external, q.ExternalID}, {&c.status, q.Status}, {&c.conclusion, q.Conclusion}, {&c.title, q.Output.Title}} {
			if f.from != "" {
				*f.to = f.from
			}
		}
	}
}

func (g *github) ref(method, repo, name string) {
	switch method {
	case http.MethodPost:
		g.branches = append(g.branches, &branch{repo: repo, name: name})
	case http.MethodDelete:
		for _, b := range g.branches {
			if b.repo == repo && b.name == name {
				b.deleted = true
			}
		}
	}
}

// repoOf is owner/name of an API path.
func repoOf(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/repos/"), "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[0] + "/" + parts[1]
}
