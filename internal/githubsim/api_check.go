package githubsim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/internal/logkey"
)

// Limits of check runs; those of texts are bytes, whatever GitHub's pages say.
const (
	checkText        = 65535
	checkActions     = 3
	checkAnnotations = 50
)

type checkRequest struct {
	Name        *string
	HeadSHA     string  `json:"head_sha"`
	DetailsURL  *string `json:"details_url"`
	ExternalID  *string `json:"external_id"`
	Status      string
	Conclusion  string
	StartedAt   *time.Time `json:"started_at"`
	CompletedAt *time.Time `json:"completed_at"`
	Output      *checkOutput
	Actions     *[]checkAction
}

type checkOutput struct {
	Title, Summary, Text *string
	Annotations          []json.RawMessage
}

func wrong(format string, args ...any) *reply {
	return refuse(http.StatusUnprocessableEntity, "Invalid request.\n\n"+fmt.Sprintf(format, args...))
}

// check applies GitHub's rules to a create or update request.
func (q *checkRequest) check() *reply {
	states := []string{"", "queued", "in_progress", "completed"}
	conclusions := []string{"", "success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required"}
	switch {
	case !slices.Contains(states, q.Status):
		return wrong("%s is not a member of [\"queued\", \"in_progress\", \"completed\"].", q.Status)
	case !slices.Contains(conclusions, q.Conclusion):
		return wrong("%s is not a member of %q.", q.Conclusion, conclusions[1:])
	case q.Status == "completed" && q.Conclusion == "":
		return wrong("\"conclusion\" wasn't supplied.")
	}
	if q.Actions != nil {
		if bad := checkTheActions(*q.Actions); bad != nil {
			return bad
		}
	}
	if q.Output == nil {
		return nil
	}
	for _, text := range []*string{q.Output.Summary, q.Output.Text} {
		if text != nil && len(*text) > checkText {
			return wrong("Only %d characters are allowed; %d were supplied.", checkText, len(*text))
		}
	}
	if n := len(q.Output.Annotations); n > checkAnnotations {
		return wrong("No more than %d items are allowed; %d were supplied.", checkAnnotations, n)
	}
	return nil
}

func checkTheActions(all []checkAction) *reply {
	if len(all) > checkActions {
		return wrong("No more than %d items are allowed; %d were supplied.", checkActions, len(all))
	}
	for _, a := range all {
		for _, f := range []struct {
			name, text string
			limit      int
		}{{"label", a.Label, 20}, {"description", a.Description, 40}, {"identifier", a.Identifier, 20}} {
			if n := utf8.RuneCountInString(f.text); n > f.limit {
				return wrong("Only %d characters are allowed; %d were supplied.", f.limit, n)
			} else if n == 0 {
				return wrong("\"%s\" wasn't supplied.", f.name)
			}
		}
	}
	return nil
}

func createCheck(c *call) reply {
	var q checkRequest
	if bad := c.decode(&q); bad != nil {
		return *bad
	}
	if q.Name == nil || *q.Name == "" {
		return *wrong("\"name\" wasn't supplied.")
	}
	if q.HeadSHA == "" {
		return *wrong("\"head_sha\" wasn't supplied.")
	}
	if bad := q.check(); bad != nil {
		return *bad
	}
	if q.Output != nil && (q.Output.Title == nil || q.Output.Summary == nil) {
		return *wrong("\"title\" and \"summary\" must be supplied with \"output\".")
	}
	if c.repo.git.kind(q.HeadSHA) != "commit" {
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+q.HeadSHA)
	}
	h, a := c.hub, c.token.inst.app
	k := &check{
		id: h.id(), app: a, sha: q.HeadSHA, suite: h.suite(c.repo, a, q.HeadSHA, ""), status: "queued",
		created: h.now(), started: h.now(),
	}
	c.repo.checks[k.id] = k
	completed := k.apply(&q, h.now())
	h.checkEvent(c.repo, k, "created", c.me(), nil)
	if completed {
		h.completed(c.repo, k, c.me())
	}
	h.made("/repos/%s/check-runs/%d", c.repo.full(), k.id)
	return created(fmt.Sprintf("check %d", k.id), h.checkJSON(c.repo, k)).
		with("Location", fmt.Sprintf("%s/check-runs/%d", h.repoAPI(c.repo), k.id))
}

// apply takes over what the request says and reports whether the run has just completed.
func (k *check) apply(q *checkRequest, now time.Time) (completed bool) {
	was := k.status
	set := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	set(&k.name, q.Name)
	set(&k.details, q.DetailsURL)
	set(&k.externalID, q.ExternalID)
	k.status = cmp.Or(q.Status, k.status)
	if q.StartedAt != nil {
		k.started = *q.StartedAt
	}
	if q.Conclusion != "" {
		k.status, k.conclusion, k.completed = "completed", q.Conclusion, now
	} else if q.Status != "" {
		k.conclusion, k.completed = "", time.Time{}
	}
	if q.CompletedAt != nil && k.status == "completed" {
		k.completed = *q.CompletedAt
	}
	if q.Actions != nil {
		k.actions = *q.Actions
	}
	if q.Output != nil {
		set(&k.title, q.Output.Title)
		set(&k.summary, q.Output.Summary)
		set(&k.txt, q.Output.Text)
		k.annotations = append(k.annotations, q.Output.Annotations...)
	}
	return was != "completed" && k.status == "completed"
}

func (c *call) check() *check { return c.repo.checks[c.number("check")] }

func getCheck(c *call) reply {
	k := c.check()
	if k == nil {
		return notFound()
	}
	return ok(c.hub.checkJSON(c.repo, k))
}

func updateCheck(c *call) reply {
	k := c.check()
	if k == nil {
		return notFound()
	}
	if k.app != c.token.inst.app {
		return fail(http.StatusForbidden, fmt.Sprintf("Invalid app_id `%d` - check run can only be modified by the GitHub App that created it.", c.token.inst.app.id))
	}
	var q checkRequest
	if bad := c.decode(&q); bad != nil {
		return *bad
	}
	if bad := q.check(); bad != nil {
		return *bad
	}
	if q.Output != nil && q.Output.Summary == nil {
		return *wrong("\"summary\" must be supplied with \"output\".")
	}
	if k.apply(&q, c.hub.now()) {
		c.hub.completed(c.repo, k, c.me())
	}
	return ok(c.hub.checkJSON(c.repo, k)).about("check %d", k.id)
}

func listChecks(c *call) reply {
	sha := c.repo.git.commit(c.args["ref"])
	if sha == "" {
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.args["ref"])
	}
	latest := c.query("filter") != "all"
	seen := map[string]bool{}
	var all []*check
	runs := c.repo.runs()
	slices.Reverse(runs)
	for _, k := range runs {
		name, id := c.query("check_name"), atoi(c.query("app_id"), 0)
		switch {
		case k.sha != sha, name != "" && k.name != name, id != 0 && k.app.id != int64(id), !c.hub.visible(k.created):
			continue
		case c.query("status") != "" && c.query("status") != k.status:
			continue
		}
		key := fmt.Sprint(k.app.id, " ", k.name)
		if latest && seen[key] {
			continue
		}
		seen[key] = true
		all = append(all, k)
	}
	some, link := page(c, all)
	shown := []obj{}
	for _, k := range some {
		shown = append(shown, c.hub.checkJSON(c.repo, k))
	}
	out := ok(obj{"total_count": len(all), "check_runs": shown})
	if link != "" {
		out = out.with("Link", link)
	}
	return out
}

// suite finds or makes the app's check suite of a commit.
func (h *Hub) suite(r *repo, a *app, sha, branch string) *suite {
	for _, s := range r.suites {
		if s.app == a && s.sha == sha {
			s.branch = cmp.Or(s.branch, branch)
			return s
		}
	}
	if branch == "" {
		if all, err := r.git.refs("refs/heads/"); err == nil {
			for _, ref := range all {
				if ref.sha == sha {
					branch = strings.TrimPrefix(ref.name, "refs/heads/")
				}
			}
		}
	}
	s := &suite{id: h.id(), app: a, sha: sha, branch: branch, created: h.now(), updated: h.now()}
	r.suites = append(r.suites, s)
	return s
}

// openSuites makes a check suite for each app that may write checks and tells it.
func (h *Hub) openSuites(r *repo, branch, sha string, by *user) {
	for _, in := range h.installed(r) {
		if rank(in.perms["checks"]) >= rank("write") {
			h.suiteEvent(r, h.suite(r, in.app, sha, branch), "requested", by)
		}
	}
}

func (h *Hub) suiteEvent(r *repo, s *suite, action string, by *user) {
	shape, err := h.suiteJSON(r, s)
	if err != nil {
		h.opts.Log.Error().Err(err).Str(logkey.Repo, r.full()).Str(logkey.SHA, s.sha).Msg("check suite event lost")
		return
	}
	h.emitTo(s.app, r, "check_suite", action, by, obj{"check_suite": shape})
}

func (h *Hub) checkEvent(r *repo, k *check, action string, by *user, more obj) {
	shape := h.checkJSON(r, k)
	shape["check_suite"] = obj{
		"id": k.suite.id, "node_id": nodeID("CheckSuite", k.suite.id), "head_sha": k.sha, "head_branch": orNull(k.suite.branch),
		"status": "in_progress", "conclusion": nil, "url": fmt.Sprintf("%s/check-suites/%d", h.repoAPI(r), k.suite.id),
		"before": nil, "after": k.sha, "app": h.appJSON(k.app), "pull_requests": h.pullsOf(r, k.sha),
		"created_at": stamp(k.suite.created), "updated_at": stamp(k.suite.updated),
	}
	h.emitTo(k.app, r, "check_run", action, by, merge(obj{"check_run": shape}, more))
}

// completed tells that a run has ended, and its suite if it was the last.
func (h *Hub) completed(r *repo, k *check, by *user) {
	h.checkEvent(r, k, "completed", by, nil)
	for _, other := range r.checks {
		if other.suite == k.suite && other.status != "completed" {
			return
		}
	}
	h.suiteEvent(r, k.suite, "completed", by)
}
