package githubsim

import (
	"fmt"
	"net/url"
)

func (h *Hub) pullSide(r *repo, branch, sha string) obj {
	return obj{"label": r.owner.login + ":" + branch, "ref": branch, "sha": sha, "user": h.userJSON(r.owner), "repo": h.repoJSON(r)}
}

// shas are the two ends of a pull request: those of its branches while it is
// open, and what they were when it was closed.
func (r *repo) shas(i *issue) (head, base string) {
	p := i.pull
	if i.state == "open" {
		if sha := r.git.head(p.head); sha != "" {
			p.headSHA = sha
		}
		if sha := r.git.head(p.base); sha != "" {
			p.baseSHA = sha
		}
	}
	return p.headSHA, p.baseSHA
}

// pullJSON is a pull request as lists show it.
func (h *Hub) pullJSON(r *repo, i *issue) obj {
	p := i.pull
	head, base := r.shas(i)
	api, page := fmt.Sprintf("%s/pulls/%d", h.repoAPI(r), i.number), h.issuePage(r, i)
	issueAPI, statuses := h.issueAPI(r, i), h.repoAPI(r)+"/statuses/"+head
	href := func(u string) obj { return obj{"href": u} }
	return obj{
		"id": p.id, "node_id": nodeID("PullRequest", p.id), "number": i.number, "title": i.title, "body": orNull(i.body),
		"user": h.userJSON(i.user), "state": i.state, "locked": i.locked, "active_lock_reason": nil, "draft": p.draft,
		"labels": h.labelsJSON(r, i.labels), "assignee": nil, "assignees": []obj{}, "milestone": nil,
		"requested_reviewers": []obj{}, "requested_teams": []obj{}, "auto_merge": nil,
		"author_association": association(r, i.user), "merge_commit_sha": orNull(p.mergeSHA),
		"head": h.pullSide(r, p.head, head), "base": h.pullSide(r, p.base, base),
		"created_at": stamp(i.created), "updated_at": stamp(i.updated), "closed_at": stamp(i.closed), "merged_at": stamp(p.merged),
		"url": api, "html_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch", "issue_url": issueAPI,
		"commits_url": api + "/commits", "comments_url": issueAPI + "/comments", "review_comments_url": api + "/comments",
		"review_comment_url": h.repoAPI(r) + "/pulls/comments{/number}", "statuses_url": statuses,
		"_links": obj{
			"self": href(api), "html": href(page), "issue": href(issueAPI), "comments": href(issueAPI + "/comments"),
			"review_comments": href(api + "/comments"), "review_comment": href(h.repoAPI(r) + "/pulls/comments{/number}"),
			"commits": href(api + "/commits"), "statuses": href(statuses),
		},
	}
}

// fullPull is a pull request as GET pulls/{n} and webhooks show it.
func (h *Hub) fullPull(r *repo, i *issue) (obj, error) {
	out := h.pullJSON(r, i)
	p := i.pull
	files, err := r.pullFiles(i)
	if err != nil {
		return nil, err
	}
	commits, err := r.git.log(p.baseSHA, p.headSHA)
	if err != nil {
		return nil, err
	}
	added, deleted := 0, 0
	for _, f := range files {
		added, deleted = added+f.added, deleted+f.deleted
	}
	merge(out, obj{
		"additions": added, "deletions": deleted, "changed_files": len(files), "commits": len(commits),
		"comments": len(i.comments), "review_comments": 0, "maintainer_can_modify": false,
		"mergeable": true, "mergeable_state": "clean", "rebaseable": true,
		"merged": !p.merged.IsZero(), "merged_by": h.nullUser(p.mergedBy),
	})
	if i.state == "closed" {
		out["mergeable"], out["mergeable_state"] = nil, "unknown"
	}
	return out, nil
}

// pullFiles is what a pull request changes since it left its base.
func (r *repo) pullFiles(i *issue) ([]fileChange, error) {
	head, base := r.shas(i)
	from := r.git.mergeBase(base, head)
	if from == "" {
		from = base
	}
	return r.git.changes(from, head)
}

func (h *Hub) fileJSON(r *repo, ref string, f fileChange) obj {
	path := (&url.URL{Path: f.path}).EscapedPath()
	out := obj{
		"sha": f.sha, "filename": f.path, "status": f.status, "additions": f.added, "deletions": f.deleted,
		"changes": f.added + f.deleted, "blob_url": h.repoPage(r) + "/blob/" + ref + "/" + path,
		"raw_url":      h.repoPage(r) + "/raw/" + ref + "/" + path,
		"contents_url": h.repoAPI(r) + "/contents/" + path + "?ref=" + ref,
	}
	if f.patch != "" {
		out["patch"] = f.patch
	}
	if f.old != "" {
		out["previous_filename"] = f.old
	}
	return out
}

func personJSON(p person) obj {
	return obj{"name": p.name, "email": p.email, "date": stamp(p.date)}
}

// verification says whether GitHub signed a commit.
func (r *repo) verification(sha string) obj {
	if r.signed[sha] {
		return obj{"verified": true, "reason": "valid", "signature": "-----BEGIN PGP SIGNATURE-----", "payload": "tree", "verified_at": stamp(r.pushed)}
	}
	return obj{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}
}

// gitCommitJSON is a commit of the Git Data API.
func (h *Hub) gitCommitJSON(r *repo, c commitInfo) obj {
	api, page := h.repoAPI(r)+"/git/commits/", h.repoPage(r)+"/commit/"
	parents := []obj{}
	for _, p := range c.parents {
		parents = append(parents, obj{"sha": p, "url": api + p, "html_url": page + p})
	}
	return obj{
		"sha": c.sha, "node_id": nodeID("Commit", 0), "url": api + c.sha, "html_url": page + c.sha,
		"author": personJSON(c.author), "committer": personJSON(c.committer), "message": c.message,
		"tree": obj{"sha": c.tree, "url": h.repoAPI(r) + "/git/trees/" + c.tree}, "parents": parents,
		"verification": r.verification(c.sha),
	}
}

// commitJSON is a commit of the repositories API.
func (h *Hub) commitJSON(r *repo, c commitInfo) obj {
	api, page := h.repoAPI(r)+"/commits/", h.repoPage(r)+"/commit/"
	parents := []obj{}
	for _, p := range c.parents {
		parents = append(parents, obj{"sha": p, "url": api + p, "html_url": page + p})
	}
	return obj{
		"sha": c.sha, "node_id": nodeID("Commit", 0), "url": api + c.sha, "html_url": page + c.sha,
		"comments_url": api + c.sha + "/comments", "author": h.nullUser(h.byEmail(c.author.email)),
		"committer": h.nullUser(h.byEmail(c.committer.email)), "parents": parents,
		"commit": obj{
			"url": h.repoAPI(r) + "/git/commits/" + c.sha, "message": c.message, "comment_count": 0,
			"author": personJSON(c.author), "committer": personJSON(c.committer),
			"tree":         obj{"sha": c.tree, "url": h.repoAPI(r) + "/git/trees/" + c.tree},
			"verification": r.verification(c.sha),
		},
	}
}

// email is the address GitHub gives a user in commits.
func (u *user) email() string { return fmt.Sprintf("%d+%s@users.noreply.github.com", u.id, u.login) }

func (h *Hub) byEmail(email string) *user {
	for _, u := range h.users {
		if u.email() == email {
			return u
		}
	}
	return nil
}
