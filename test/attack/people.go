package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// onGitHub plays what a person does. What comes of it is looked at when all is quiet: later.
func (w *world) onGitHub(ctx context.Context, a attack) (later func(context.Context) (outcome, error), err error) {
	issue, err := w.issue(project, a.Name)
	if err != nil {
		return nil, err
	}
	for _, step := range a.Before {
		if err := w.step(ctx, issue, a, step); err != nil {
			return nil, err
		}
	}
	if a.Text != "" {
		for range max(1, a.Times) {
			if _, err := w.hub.Comment(project, issue, a.By, a.Text); err != nil {
				return nil, err
			}
		}
	}
	for _, step := range a.After {
		if err := w.step(ctx, issue, a, step); err != nil {
			return nil, err
		}
	}
	waited := 0.0
	if a.Safe.Answered > 0 {
		if waited, err = w.heard(ctx); err != nil {
			return nil, err
		}
		waited -= w.calm
	}
	return func(ctx context.Context) (outcome, error) {
		o, err := w.onIssue(ctx, issue)
		o.waited = waited
		return o, err
	}, nil
}

// heard says how long the writer waits in the other repository for the first reaction.
func (w *world) heard(ctx context.Context) (seconds float64, err error) {
	issue, err := w.hub.OpenIssue(other, writer, "Is anybody there", "?")
	if err != nil {
		return 0, err
	}
	if _, err := w.hub.Comment(other, issue, writer, "/yudai status"); err != nil {
		return 0, err
	}
	began := time.Now()
	_ = await(ctx, 30*time.Second, "a reaction", func() bool { // the time says it
		i, err := w.hub.Issue(other, issue)
		return err == nil && len(i.Comments) > 0 && len(i.Comments[0].Reactions) > 0
	})
	return time.Since(began).Seconds(), nil
}

// step does one thing on an issue: "VERB [as WHO] [TEXT]".
func (w *world) step(ctx context.Context, issue int, a attack, step string) error {
	verb, rest, _ := strings.Cut(step, " ")
	who := a.By
	if as, ok := strings.CutPrefix(rest, "as "); ok {
		who, rest, _ = strings.Cut(as, " ")
	}
	switch verb {
	case "label":
		return w.hub.Label(project, issue, who, rest)
	case "unlabel":
		return w.hub.Unlabel(project, issue, who, rest)
	case "close":
		return w.hub.CloseIssue(project, issue, who)
	case "reopen":
		return w.hub.ReopenIssue(project, issue, who)
	case "lock":
		return w.hub.LockIssue(project, issue, true)
	case "delete":
		return w.hub.DeleteIssue(project, issue, who)
	case "transfer":
		_, err := w.hub.TransferIssue(project, issue, who, other)
		return err
	case "comment":
		_, err := w.hub.Comment(project, issue, who, rest)
		return err
	case "title":
		i, err := w.hub.Issue(project, issue)
		if err != nil {
			return err
		}
		return w.hub.EditIssue(project, issue, who, rest, i.Body)
	case "body":
		return w.hub.EditIssue(project, issue, who, "Adding subtracts", rest)
	case "edit": // the newest comment
		return w.onNewest(issue, func(id int64) error { return w.hub.EditComment(project, id, who, rest) })
	case "remove":
		return w.onNewest(issue, func(id int64) error { return w.hub.DeleteComment(project, id, who) })
	case "wait": // for so many last comments
		want, err := strconv.Atoi(rest)
		if err != nil {
			return fmt.Errorf("attack %s: step %q: %w", a.Name, step, err)
		}
		return await(ctx, solveTime, step, func() bool { return w.finals(issue) >= want })
	case "role":
		w.hub.CreateUser(who)
		return w.hub.SetPermission(project, who, rest)
	case "bot":
		w.hub.CreateBot(who)
		return w.hub.SetPermission(project, who, rest)
	}
	return fmt.Errorf("attack %s: no such step: %s", a.Name, step)
}

func (w *world) onNewest(issue int, f func(int64) error) error {
	i, err := w.hub.Issue(project, issue)
	if err != nil {
		return err
	}
	for n := len(i.Comments) - 1; n >= 0; n-- {
		if i.Comments[n].Author != bot {
			return f(i.Comments[n].ID)
		}
	}
	return fmt.Errorf("issue %d has no comment of a person", issue)
}

// finals counts the last comments of solves on an issue.
func (w *world) finals(issue int) (n int) {
	i, err := w.hub.Issue(project, issue)
	if err != nil {
		return 0
	}
	for _, c := range i.Comments {
		if _, kind, ok := solve.FindMarker(c.Body); ok && c.Author == bot && kind == string(solve.EffectFinal) {
			n++
		}
	}
	return n
}

// onIssue is what can be seen on an issue.
func (w *world) onIssue(ctx context.Context, number int) (o outcome, err error) {
	i, err := w.hub.Issue(project, number)
	if err != nil {
		i = githubsim.Issue{} // it was deleted
	}
	o.solves = w.begun(number)
	reactions := i.Reactions
	for _, c := range i.Comments {
		reactions = append(reactions, c.Reactions...)
		if c.Author == bot {
			o.writes++
			o.text += c.Body + "\n"
		}
	}
	for _, r := range reactions {
		if r.Author == bot {
			o.writes++
		}
	}
	return o, w.published(ctx, project, number, &o)
}

// begun counts the solves of an issue, by the branches and comments that were made for them.
func (w *world) begun(issue int) int {
	solves := map[string]bool{}
	branch := regexp.MustCompile(fmt.Sprintf(`ai/fix-%d-([0-9a-v]{20})`, issue))
	comments := fmt.Sprintf("/issues/%d/comments", issue)
	for _, r := range w.hub.History() { // also what was deleted since
		if m := branch.FindSubmatch(r.Body); m != nil {
			solves[string(m[1])] = true
		}
		var made struct{ Body string }
		if r.Kind != "request" || !strings.HasSuffix(r.Path, comments) || json.Unmarshal(r.Body, &made) != nil {
			continue
		}
		if id, kind, ok := solve.FindMarker(made.Body); ok && (kind == string(solve.EffectFinal) || kind == string(solve.EffectNotice)) {
			solves[id] = true
		}
	}
	return len(solves)
}

// anybody plays somebody who reaches the listener.
func (w *world) anybody(ctx context.Context, a attack) (o outcome, err error) {
	method := a.Method
	if method == "" {
		method = http.MethodGet
	}
	body := strings.NewReplacer("TOKEN", w.canaries["API token"], "PADDING", strings.Repeat("x", 200_000)).Replace(a.Body)
	o.status, o.text, err = w.request(ctx, method, a.Path, a.Header, body)
	return o, err
}

// delivered plays somebody who sends webhooks: a real payload of an issue, changed by the body's
// members, and signed as the attack says. What comes of it is looked at later.
func (w *world) delivered(ctx context.Context, a attack) (later func(context.Context) (outcome, error), err error) {
	issue, err := w.issue(project, a.Name)
	if err != nil {
		return nil, err
	}
	for _, step := range a.Before {
		if err := w.step(ctx, issue, a, step); err != nil {
			return nil, err
		}
	}
	if err := w.hub.AwaitIdle(ctx); err != nil {
		return nil, err
	}
	guid, payload, err := w.payload(a, issue)
	if err != nil {
		return nil, err
	}
	var status int
	var text string
	for n := range max(1, a.Times) {
		switch a.GUID {
		case "":
			guid = fmt.Sprintf("%08x-0000-4000-8000-%012x", w.issues.Add(1), time.Now().UnixNano()&0xffffffffffff+int64(n))
		case "its own":
		default:
			guid = a.GUID
		}
		if status, text, err = w.request(ctx, http.MethodPost, "/api/github/hook", w.signed(a, guid, payload), payload); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) (outcome, error) {
		o, err := w.onIssue(ctx, issue)
		o.status, o.text = status, o.text+text
		return o, err
	}, nil
}

// payload is the newest delivery of the event about the issue, with the body's members in it. REPOSITORY is the repository's number.
func (w *world) payload(a attack, issue int) (guid, payload string, err error) {
	repo, err := w.hub.Repo(owner, "project")
	if err != nil {
		return "", "", err
	}
	a.Body = strings.ReplaceAll(a.Body, "REPOSITORY", strconv.FormatInt(repo.ID, 10))
	event, action, _ := strings.Cut(a.Event, ".")
	mark := fmt.Sprintf(`"number":%d,`, issue)
	ours := regexp.MustCompile(`"sender":\{[^{}]*"login":"yudai\[bot\]"`)
	for _, d := range w.hub.Deliveries(w.app) {
		compact := strings.ReplaceAll(string(d.Payload), `": `, `":`)
		if d.Event != event || d.Action != action || !strings.Contains(compact, mark) || ours.MatchString(compact) {
			continue
		}
		if a.Body == "" {
			return d.GUID, string(d.Payload), nil
		}
		var whole, changes map[string]any
		if err := json.Unmarshal(d.Payload, &whole); err != nil {
			return "", "", fmt.Errorf("read a delivery: %w", err)
		}
		if !json.Valid([]byte(a.Body)) { // it is the whole payload
			return d.GUID, a.Body, nil
		}
		if err := json.Unmarshal([]byte(a.Body), &changes); err != nil {
			return "", "", fmt.Errorf("read the body of attack %s: %w", a.Name, err)
		}
		lay(whole, changes)
		changed, err := json.Marshal(whole)
		return d.GUID, string(changed), err
	}
	return "", "", fmt.Errorf("attack %s: there was no delivery %s of issue %d", a.Name, a.Event, issue)
}

// signed are the headers of a delivery.
func (w *world) signed(a attack, guid, payload string) map[string]string {
	event, _, _ := strings.Cut(a.Event, ".")
	h := map[string]string{"X-GitHub-Event": event, "X-GitHub-Delivery": guid, "Content-Type": "application/json"}
	sum := func(secret, text string) string {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(text))
		return "sha256=" + hex.EncodeToString(mac.Sum(nil))
	}
	secret := w.canaries["webhook secret"]
	old := hmac.New(sha1.New, []byte(secret))
	old.Write([]byte(payload))
	switch a.Sign {
	case "":
		h["X-Hub-Signature-256"] = sum(secret, payload)
	case "empty secret":
		h["X-Hub-Signature-256"] = sum("", payload)
	case "wrong secret":
		h["X-Hub-Signature-256"] = sum("secret", payload)
	case "other text":
		h["X-Hub-Signature-256"] = sum(secret, payload+" ")
	case "sha1":
		h["X-Hub-Signature"] = "sha1=" + hex.EncodeToString(old.Sum(nil))
	case "sha1 as sha256":
		h["X-Hub-Signature-256"] = "sha1=" + hex.EncodeToString(old.Sum(nil))
	case "none":
	default:
		h["X-Hub-Signature-256"] = strings.ReplaceAll(a.Sign, "LENGTH", strconv.Itoa(len(payload)))
	}
	for name, value := range a.Header {
		h[name] = value
	}
	return h
}
