package githubsim

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

func getCommit(c *call) reply {
	ref := c.args["ref"]
	if rest, isChecks := strings.CutSuffix(ref, "/check-runs"); isChecks { // a branch name with slashes
		c.args["ref"] = rest
		if !c.token.may([]string{"checks:read"}) {
			return fail(http.StatusForbidden, "Resource not accessible by integration")
		}
		return listChecks(c)
	}
	sha := c.repo.git.commit(ref)
	if sha == "" {
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+ref)
	}
	if strings.HasSuffix(c.req.Header.Get("Accept"), ".sha") {
		return ok(sha)
	}
	info, err := c.repo.git.info(sha)
	if err != nil {
		return broken(err)
	}
	return ok(c.hub.commitJSON(c.repo, info))
}

func getBranch(c *call) reply {
	name := c.args["branch"]
	sha := c.repo.git.head(name)
	if sha == "" {
		return fail(http.StatusNotFound, "Branch not found")
	}
	info, err := c.repo.git.info(sha)
	if err != nil {
		return broken(err)
	}
	api := c.hub.repoAPI(c.repo) + "/branches/" + url.PathEscape(name)
	return ok(obj{
		"name": name, "commit": c.hub.commitJSON(c.repo, info), "protected": false,
		"_links":         obj{"self": api, "html": c.hub.repoPage(c.repo) + "/tree/" + url.PathEscape(name)},
		"protection":     obj{"enabled": false, "required_status_checks": obj{"enforcement_level": "off", "contexts": []string{}, "checks": []obj{}}},
		"protection_url": api + "/protection",
	})
}

func compare(c *call) reply {
	from, to, found := strings.Cut(c.args["range"], "...")
	base, head := c.repo.git.commit(from), c.repo.git.commit(to)
	if !found || base == "" || head == "" {
		return notFound()
	}
	fork := c.repo.git.mergeBase(base, head)
	if fork == "" {
		return fail(http.StatusNotFound, fmt.Sprintf("No common ancestor between %s and %s.", from, to))
	}
	ahead, err := c.repo.git.log(base, head)
	if err != nil {
		return broken(err)
	}
	behind, err := c.repo.git.log(head, base)
	if err != nil {
		return broken(err)
	}
	status := map[[2]bool]string{{true, true}: "diverged", {true, false}: "ahead", {false, true}: "behind", {false, false}: "identical"}
	shown := map[string]obj{}
	commits := []obj{}
	for _, sha := range append([]string{base, fork}, ahead...) {
		info, err := c.repo.git.info(sha)
		if err != nil {
			return broken(err)
		}
		shown[sha] = c.hub.commitJSON(c.repo, info)
	}
	for _, sha := range ahead {
		commits = append(commits, shown[sha])
	}
	changes, err := c.repo.git.changes(fork, head)
	if err != nil {
		return broken(err)
	}
	files := []obj{}
	for _, f := range changes {
		files = append(files, c.hub.fileJSON(c.repo, head, f))
	}
	page := c.hub.repoPage(c.repo) + "/compare/" + from + "..." + to
	return ok(obj{
		"url": c.hub.repoAPI(c.repo) + "/compare/" + from + "..." + to, "html_url": page, "permalink_url": page,
		"diff_url": page + ".diff", "patch_url": page + ".patch", "base_commit": shown[base], "merge_base_commit": shown[fork],
		"status": status[[2]bool{len(ahead) > 0, len(behind) > 0}], "ahead_by": len(ahead), "behind_by": len(behind),
		"total_commits": len(ahead), "commits": commits, "files": files,
	})
}
