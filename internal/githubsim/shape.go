package githubsim

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// This file and shape_pull.go turn objects into GitHub's JSON. The tests hold
// every one of them against GitHub's own description.

// stamp writes a time as GitHub does, and the zero time as null.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// orNull writes the empty string as null.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func nodeID(kind string, id int64) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s:%d", kind, id))
}

func (h *Hub) userJSON(u *user) obj {
	if u == nil {
		return nil
	}
	login := url.PathEscape(u.login)
	api := h.api() + "/users/" + login
	return obj{
		"login": u.login, "id": u.id, "node_id": nodeID("User", u.id), "type": u.kind, "user_view_type": "public", "site_admin": false,
		"avatar_url": h.url() + "/" + login + ".png", "gravatar_id": "", "url": api, "html_url": h.url() + "/" + login,
		"followers_url": api + "/followers", "following_url": api + "/following{/other_user}",
		"gists_url": api + "/gists{/gist_id}", "starred_url": api + "/starred{/owner}{/repo}",
		"subscriptions_url": api + "/subscriptions", "organizations_url": api + "/orgs", "repos_url": api + "/repos",
		"events_url": api + "/events{/privacy}", "received_events_url": api + "/received_events",
	}
}

// nullUser is a user or JSON null (a nil map would be null too, but typed).
func (h *Hub) nullUser(u *user) any {
	if u == nil {
		return nil
	}
	return h.userJSON(u)
}

func (h *Hub) appJSON(a *app) any {
	if a == nil {
		return nil
	}
	page := h.url() + "/apps/" + a.slug
	return obj{
		"id": a.id, "slug": a.slug, "node_id": nodeID("App", a.id), "name": a.name, "description": "",
		"owner": h.userJSON(a.owner), "external_url": page, "html_url": page,
		"created_at": stamp(a.created), "updated_at": stamp(a.created), "permissions": a.perms, "events": a.events,
	}
}

func (h *Hub) installationJSON(in *installation) obj {
	api := fmt.Sprintf("%s/app/installations/%d", h.api(), in.id)
	return obj{
		"id": in.id, "node_id": nodeID("Installation", in.id), "app_id": in.app.id, "app_slug": in.app.slug,
		"account": h.userJSON(in.owner), "target_id": in.owner.id, "target_type": in.owner.kind,
		"repository_selection": in.selection(), "permissions": in.perms, "events": in.app.events,
		"access_tokens_url": api + "/access_tokens", "repositories_url": h.api() + "/installation/repositories",
		"html_url":         fmt.Sprintf("%s/settings/installations/%d", h.url(), in.id),
		"single_file_name": nil, "has_multiple_single_files": false, "single_file_paths": []string{},
		"created_at": stamp(in.created), "updated_at": stamp(in.created),
		"suspended_by": h.nullUser(in.by), "suspended_at": stamp(in.suspended),
	}
}

// repoLinks are the addresses in a repository, from its API root.
func repoLinks() map[string]string {
	return map[string]string{
		"archive_url": "/{archive_format}{/ref}", "assignees_url": "/assignees{/user}", "blobs_url": "/git/blobs{/sha}",
		"branches_url": "/branches{/branch}", "collaborators_url": "/collaborators{/collaborator}",
		"comments_url": "/comments{/number}", "commits_url": "/commits{/sha}", "compare_url": "/compare/{base}...{head}",
		"contents_url": "/contents/{+path}", "contributors_url": "/contributors", "deployments_url": "/deployments",
		"downloads_url": "/downloads", "events_url": "/events", "forks_url": "/forks",
		"git_commits_url": "/git/commits{/sha}", "git_refs_url": "/git/refs{/sha}", "git_tags_url": "/git/tags{/sha}",
		"hooks_url": "/hooks", "issue_comment_url": "/issues/comments{/number}", "issue_events_url": "/issues/events{/number}",
		"issues_url": "/issues{/number}", "keys_url": "/keys{/key_id}", "labels_url": "/labels{/name}",
		"languages_url": "/languages", "merges_url": "/merges", "milestones_url": "/milestones{/number}",
		"notifications_url": "/notifications{?since,all,participating}", "pulls_url": "/pulls{/number}",
		"releases_url": "/releases{/id}", "stargazers_url": "/stargazers", "statuses_url": "/statuses/{sha}",
		"subscribers_url": "/subscribers", "subscription_url": "/subscription", "tags_url": "/tags",
		"teams_url": "/teams", "trees_url": "/git/trees{/sha}", "url": "",
	}
}

func (h *Hub) repoAPI(r *repo) string  { return h.api() + "/repos/" + r.full() }
func (h *Hub) repoPage(r *repo) string { return h.url() + "/" + r.full() }

func (h *Hub) repoJSON(r *repo) obj {
	open := 0
	for _, i := range r.issues {
		if i.state == "open" {
			open++
		}
	}
	page, host := h.repoPage(r), strings.TrimPrefix(strings.TrimPrefix(h.url(), "http://"), "https://")
	visibility := "public"
	if r.private {
		visibility = "private"
	}
	out := obj{
		"id": r.id, "node_id": nodeID("Repository", r.id), "name": r.name, "full_name": r.full(),
		"owner": h.userJSON(r.owner), "private": r.private, "visibility": visibility, "html_url": page,
		"description": nil, "fork": false, "clone_url": page + ".git", "git_url": "git://" + host + "/" + r.full() + ".git",
		"ssh_url": "git@" + host + ":" + r.full() + ".git", "svn_url": page, "mirror_url": nil, "homepage": nil,
		"default_branch": r.base, "language": nil, "license": nil, "archived": false, "disabled": false,
		"has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false, "has_downloads": true,
		"has_discussions": false, "is_template": false, "allow_forking": true, "web_commit_signoff_required": false,
		"topics": []string{}, "size": 1, "forks": 0, "forks_count": 0, "watchers": 0, "watchers_count": 0,
		"stargazers_count": 0, "network_count": 0, "subscribers_count": 0, "open_issues": open, "open_issues_count": open,
		"created_at": stamp(r.created), "updated_at": stamp(r.created), "pushed_at": stamp(r.pushed),
	}
	for key, path := range repoLinks() {
		out[key] = h.repoAPI(r) + path
	}
	return out
}

func briefRepo(r *repo) obj {
	return obj{"id": r.id, "node_id": nodeID("Repository", r.id), "name": r.name, "full_name": r.full(), "private": r.private}
}

// briefRepos lists what an installation covers, as its events do.
func (h *Hub) briefRepos(in *installation) []obj {
	out := []obj{}
	for _, r := range h.reposOf(&token{inst: in}) {
		out = append(out, briefRepo(r))
	}
	return out
}

func (h *Hub) labelJSON(r *repo, l *label) obj {
	return obj{
		"id": l.id, "node_id": nodeID("Label", l.id), "name": l.name, "color": l.color, "default": false,
		"description": orNull(l.description), "url": h.repoAPI(r) + "/labels/" + url.PathEscape(l.name),
	}
}

func (h *Hub) labelsJSON(r *repo, all []*label) []obj {
	out := []obj{}
	for _, l := range all {
		out = append(out, h.labelJSON(r, l))
	}
	return out
}

// reactionContents are the reactions there are.
func reactionContents() []string {
	return []string{"+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"}
}

func rollup(url string, all []*reaction) obj {
	out := obj{"url": url, "total_count": len(all)}
	for _, content := range reactionContents() {
		out[content] = 0
	}
	for _, x := range all {
		n, _ := out[x.content].(int)
		out[x.content] = n + 1
	}
	return out
}

func (h *Hub) reactionJSON(x *reaction) obj {
	return obj{
		"id": x.id, "node_id": nodeID("Reaction", x.id), "user": h.userJSON(x.user), "content": x.content,
		"created_at": stamp(x.created),
	}
}

// association is a person's standing in a repository as GitHub puts it into payloads.
func association(r *repo, u *user) string {
	switch {
	case r.hidden[strings.ToLower(u.login)]:
		return "NONE"
	case u == r.owner:
		return "OWNER"
	case rank(strings.NewReplacer("maintain", "write", "triage", "write").Replace(r.role(u))) >= rank("write"):
		return "COLLABORATOR"
	}
	return "NONE"
}

// issueAPI is the address of an issue, which a pull request is too.
func (h *Hub) issueAPI(r *repo, i *issue) string {
	return fmt.Sprintf("%s/issues/%d", h.repoAPI(r), i.number)
}

func (h *Hub) issuePage(r *repo, i *issue) string {
	if i.pull != nil {
		return fmt.Sprintf("%s/pull/%d", h.repoPage(r), i.number)
	}
	return fmt.Sprintf("%s/issues/%d", h.repoPage(r), i.number)
}

func (h *Hub) issueJSON(r *repo, i *issue) obj {
	api := h.issueAPI(r, i)
	out := obj{
		"id": i.id, "node_id": nodeID("Issue", i.id), "number": i.number, "title": i.title, "body": orNull(i.body),
		"user": h.userJSON(i.user), "state": i.state, "state_reason": orNull(i.reason), "locked": i.locked,
		"active_lock_reason": nil, "labels": h.labelsJSON(r, i.labels), "assignee": nil, "assignees": []obj{},
		"milestone": nil, "comments": len(i.comments), "author_association": association(r, i.user),
		"created_at": stamp(i.created), "updated_at": stamp(i.updated), "closed_at": stamp(i.closed),
		"url": api, "repository_url": h.repoAPI(r), "html_url": h.issuePage(r, i), "comments_url": api + "/comments",
		"events_url": api + "/events", "labels_url": api + "/labels{/name}", "timeline_url": api + "/timeline",
		"performed_via_github_app": h.appJSON(i.app), "reactions": rollup(api+"/reactions", i.reactions),
	}
	if i.pull != nil {
		page := h.issuePage(r, i)
		out["draft"] = i.pull.draft
		out["pull_request"] = obj{
			"url": fmt.Sprintf("%s/pulls/%d", h.repoAPI(r), i.number), "html_url": page,
			"diff_url": page + ".diff", "patch_url": page + ".patch", "merged_at": stamp(i.pull.merged),
		}
	}
	return out
}

func (h *Hub) commentJSON(r *repo, c *comment) obj {
	api := fmt.Sprintf("%s/issues/comments/%d", h.repoAPI(r), c.id)
	return obj{
		"id": c.id, "node_id": nodeID("IssueComment", c.id), "body": c.body, "user": h.userJSON(c.user),
		"created_at": stamp(c.created), "updated_at": stamp(c.updated), "author_association": association(r, c.user),
		"url": api, "html_url": fmt.Sprintf("%s#issuecomment-%d", h.issuePage(r, c.issue), c.id),
		"issue_url": h.issueAPI(r, c.issue), "performed_via_github_app": h.appJSON(c.app),
		"reactions": rollup(api+"/reactions", c.reactions),
	}
}

// pullsOf lists the open pull requests whose head is sha, as check runs show them.
func (h *Hub) pullsOf(r *repo, sha string) []obj {
	out := []obj{}
	side := func(ref, sha string) obj {
		return obj{"ref": ref, "sha": sha, "repo": obj{"id": r.id, "url": h.repoAPI(r), "name": r.name}}
	}
	for _, i := range r.sorted() {
		if p := i.pull; p != nil && i.state == "open" && r.git.head(p.head) == sha {
			out = append(out, obj{
				"id": p.id, "number": i.number, "url": fmt.Sprintf("%s/pulls/%d", h.repoAPI(r), i.number),
				"head": side(p.head, sha), "base": side(p.base, r.git.head(p.base)),
			})
		}
	}
	return out
}

func (h *Hub) checkJSON(r *repo, k *check) obj {
	api := fmt.Sprintf("%s/check-runs/%d", h.repoAPI(r), k.id)
	page := fmt.Sprintf("%s/runs/%d", h.repoPage(r), k.id)
	details := k.details
	if details == "" {
		details = h.url() + "/apps/" + k.app.slug
	}
	return obj{
		"id": k.id, "node_id": nodeID("CheckRun", k.id), "name": k.name, "head_sha": k.sha, "external_id": k.externalID,
		"url": api, "html_url": page, "details_url": details, "status": k.status, "conclusion": orNull(k.conclusion),
		"started_at": stamp(k.started), "completed_at": stamp(k.completed),
		"output": obj{
			"title": orNull(k.title), "summary": orNull(k.summary), "text": orNull(k.txt),
			"annotations_count": len(k.annotations), "annotations_url": api + "/annotations",
		},
		"check_suite": obj{"id": k.suite.id}, "app": h.appJSON(k.app), "pull_requests": h.pullsOf(r, k.sha),
	}
}

func (h *Hub) suiteJSON(r *repo, s *suite) (obj, error) {
	api := fmt.Sprintf("%s/check-suites/%d", h.repoAPI(r), s.id)
	info, err := r.git.info(s.sha)
	if err != nil {
		return nil, err
	}
	status, conclusion, runs := "queued", "", 0
	for _, k := range r.runs() {
		if k.suite != s {
			continue
		}
		runs++
		switch {
		case k.status != "completed":
			status, conclusion = "in_progress", ""
		case runs == 1:
			status, conclusion = "completed", k.conclusion
		case status == "completed" && k.conclusion == "failure":
			conclusion = "failure"
		}
	}
	return obj{
		"id": s.id, "node_id": nodeID("CheckSuite", s.id), "app": h.appJSON(s.app), "head_sha": s.sha,
		"head_branch": orNull(s.branch), "before": nil, "after": s.sha, "status": status, "conclusion": orNull(conclusion),
		"url": api, "check_runs_url": api + "/check-runs", "latest_check_runs_count": runs,
		"rerequestable": true, "runs_rerequestable": true, "pull_requests": h.pullsOf(r, s.sha),
		"created_at": stamp(s.created), "updated_at": stamp(s.updated),
		"head_commit": obj{
			"id": s.sha, "tree_id": info.tree, "message": info.message, "timestamp": stamp(info.committer.date),
			"author":    obj{"name": info.author.name, "email": info.author.email},
			"committer": obj{"name": info.committer.name, "email": info.committer.email},
		},
	}, nil
}
