package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// status is what the API tells of a solve, as far as attacks look.
type status struct {
	State       string `json:"state"`
	Reason      string `json:"reason"`
	Experiments []struct {
		Run    int     `json:"run"`
		Agent  string  `json:"agent"`
		Model  string  `json:"model"`
		State  string  `json:"state"`
		Reason string  `json:"reason"`
		Cost   float64 `json:"cost_usd"`
	} `json:"experiments"`
	Cost float64 `json:"cost_usd"`
}

// request asks the program, with the token of the API if it is named.
func (w *world) request(ctx context.Context, method, path string, header map[string]string, body string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.proc.Address(), strings.NewReader(body))
	if err != nil {
		return 0, "", fmt.Errorf("make the request: %w", err)
	}
	client := &http.Client{Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r.URL.Opaque = path // as it is, dots and all
	if host, ok := header["Host"]; ok {
		r.Host = host
	}
	for name, value := range header {
		r.Header.Set(name, strings.ReplaceAll(value, "TOKEN", w.canaries["API token"]))
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 8<<20))
	if err != nil {
		return 0, "", fmt.Errorf("read the answer: %w", err)
	}
	var all strings.Builder
	_ = answer.Header.Write(&all) // a builder takes everything
	return answer.StatusCode, string(text) + "\n" + all.String(), nil
}

// issue opens a new one in the project.
func (w *world) issue(repo, title string) (int, error) {
	return w.hub.OpenIssue(repo, writer, title, "`sh calc.sh add 2 3` prints -1.")
}

// ask has the writer ask for a solve and waits for its end.
func (w *world) ask(ctx context.Context, repo string, issue int, words string, limit time.Duration) (solve.ID, status, error) {
	if _, err := w.hub.Comment(repo, issue, writer, "/yudai solve "+words); err != nil {
		return "", status{}, err
	}
	return w.final(ctx, repo, issue, limit)
}

// final waits until the issue has its last comment.
func (w *world) final(ctx context.Context, repo string, issue int, limit time.Duration) (id solve.ID, s status, err error) {
	err = await(ctx, limit, fmt.Sprintf("the end of the solve of issue %d", issue), func() bool {
		_, kinds := w.comments(repo, issue)
		id = solve.ID(kinds[string(solve.EffectFinal)])
		return id != "" || kinds[string(solve.EffectReply)] != ""
	})
	if err != nil || id == "" {
		return id, s, err
	}
	return id, s, w.status(ctx, id, &s)
}

func (w *world) status(ctx context.Context, id solve.ID, into *status) error {
	code, body, err := w.request(ctx, http.MethodGet, "/solve/"+string(id)+"/status", map[string]string{"Authorization": "Bearer TOKEN"}, "")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("status of solve %s: %d %s", id, code, body)
	}
	if err != nil {
		return err
	}
	return json.NewDecoder(strings.NewReader(body)).Decode(into) // headers follow
}

// comments are all texts on an issue that are ours, and the solves by the kind of comment.
func (w *world) comments(repo string, issue int) (text string, solves map[string]string) {
	solves = map[string]string{}
	i, err := w.hub.Issue(repo, issue)
	if err != nil {
		return "", solves
	}
	for _, c := range i.Comments {
		if c.Author != bot {
			continue
		}
		text += c.Body + "\n"
		if id, kind, ok := solve.FindMarker(c.Body); ok {
			solves[kind] = id
		}
	}
	return text, solves
}

// published looks at the pull request of an issue.
func (w *world) published(ctx context.Context, repo string, issue int, o *outcome) error {
	pulls, err := w.hub.Pulls(repo)
	if err != nil {
		return err
	}
	for _, p := range pulls {
		if !strings.HasPrefix(p.Head, fmt.Sprintf("ai/fix-%d-", issue)) {
			continue
		}
		o.pull, o.body, o.text = true, p.Body, o.text+p.Body // a title is no markup
		// The list of files and everything after it warns of nothing.
		o.warning, _, _ = strings.Cut(p.Title+"\n"+p.Body, "### Why this one")
		if o.tree, err = w.tree(ctx, repo, p); err != nil {
			return err
		}
	}
	return nil
}

// tree lists the files of a pull request's commit, with the targets of links.
func (w *world) tree(ctx context.Context, repo string, p githubsim.Pull) (string, error) {
	script := `git ls-tree -r "$SHA" | while read -r mode kind sha path; do
	target=; test "$mode" != 120000 || target=" -> $(git cat-file blob "$sha" | tr '\n' ' ')"
	echo "$mode $path$target"; done`
	out, err := shell(ctx, w.path("github", repo+".git"), script, []string{"SHA=" + p.HeadSHA})
	if err != nil {
		return "", fmt.Errorf("list the pull request's tree: %w: %s", err, out)
	}
	return out, nil
}

// transcript is what is stored of the output of a program in the sandbox.
func (w *world) transcript(id solve.ID, run int) string {
	files, err := filepath.Glob(w.path("store", "transcripts", string(id), strconv.Itoa(run), "*.jsonl"))
	if err != nil {
		return ""
	}
	var text strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // the script's end will be missing
		}
		for line := range strings.Lines(string(data)) {
			var entry struct{ Role, Content string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Role == "output" {
				text.WriteString(entry.Content)
			}
		}
	}
	return text.String()
}
