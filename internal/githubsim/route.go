package githubsim

import (
	"net/http"
	"net/url"
	"strings"
)

// caller is who may use a route.
type caller int

const (
	byAnybody caller = iota // an app or an installation
	byApp                   // an app with its JWT
	byToken                 // an installation with its token
	byNobody                // no credentials at all
	byPerson                // somebody with a token of their own
)

// route is one endpoint. In its path, {x} is a segment and a final {x...} the
// rest. One of the rights is needed.
type route struct {
	method string
	path   []string
	who    caller
	rights []string
	do     func(*call) reply
}

// match finds the route of a request; the first that fits wins.
func (h *Hub) match(method, path string) (*route, map[string]string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for i := range h.routes {
		if h.routes[i].method != method {
			continue
		}
		if args, fits := fit(h.routes[i].path, segments); fits {
			return &h.routes[i], args
		}
	}
	return nil, nil
}

func fit(pattern, segments []string) (map[string]string, bool) {
	args := map[string]string{}
	for i, p := range pattern {
		rest := strings.HasSuffix(p, "...}")
		if i >= len(segments) {
			return args, rest && i == len(segments)
		}
		name := strings.TrimSuffix(strings.Trim(p, "{}"), "...")
		text := segments[i]
		if rest {
			text = strings.Join(segments[i:], "/")
		}
		value, err := url.PathUnescape(text)
		if err != nil {
			return nil, false
		}
		switch {
		case rest:
			args[name] = value
			return args, true
		case strings.HasPrefix(p, "{"):
			args[name] = value
		case p != value:
			return nil, false
		}
	}
	return args, len(pattern) == len(segments)
}

// apiRoutes is the whole REST API of the emulator.
func apiRoutes() []route {
	const get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	const contentsRead, contentsWrite = "contents:read", "contents:write"
	const issuesRead, issuesWrite = "issues:read", "issues:write"
	const pullsRead, pullsWrite = "pull_requests:read", "pull_requests:write"
	const checksRead, checksWrite = "checks:read", "checks:write"
	var all []route
	add := func(method, path string, who caller, do func(*call) reply, rights ...string) {
		all = append(all, route{method, strings.Split(strings.Trim(path, "/"), "/"), who, rights, do})
	}
	in := func(method, path string, do func(*call) reply, rights ...string) {
		add(method, "/repos/{owner}/{repo}"+path, byToken, do, rights...)
	}
	add(get, "/app", byApp, getApp)
	add(post, "/app-manifests/{code}/conversions", byNobody, convert)
	add(get, "/app/hook/config", byApp, getHookConfig)
	add(patch, "/app/hook/config", byApp, setHookConfig)
	add(get, "/app/installations", byApp, listInstallations)
	add(get, "/app/installations/{installation}", byApp, getInstallation)
	add(post, "/app/installations/{installation}/access_tokens", byApp, mint)
	add(get, "/app/hook/deliveries", byApp, listDeliveries)
	add(get, "/app/hook/deliveries/{delivery}", byApp, getDelivery)
	add(post, "/app/hook/deliveries/{delivery}/attempts", byApp, redeliver)
	add(get, "/repos/{owner}/{repo}/installation", byApp, getRepoInstallation)
	add(get, "/installation/repositories", byToken, listRepos)
	add(del, "/installation/token", byToken, revoke)
	add(get, "/rate_limit", byAnybody, getRateLimit)
	add(get, "/users/{login}", byAnybody, getUser)
	add(get, "/user", byPerson, getMe)

	in(get, "", getRepo, "metadata:read")
	in(get, "/collaborators/{login}/permission", getPermission, "metadata:read")
	in(get, "/rules/branches/{branch...}", getRules, "metadata:read")
	in(get, "/contents/{path...}", getContents, contentsRead)
	in(get, "/branches/{branch...}", getBranch, contentsRead)
	in(get, "/compare/{range...}", compare, contentsRead)
	in(get, "/commits/{ref}/check-runs", listChecks, checksRead)
	in(get, "/commits/{ref...}", getCommit, contentsRead)
	in(get, "/git/ref/{ref...}", getRef, contentsRead)
	in(get, "/git/matching-refs/{ref...}", matchingRefs, contentsRead)
	in(post, "/git/refs", createRef, contentsWrite)
	in(patch, "/git/refs/{ref...}", updateRef, contentsWrite)
	in(del, "/git/refs/{ref...}", deleteRef, contentsWrite)
	in(post, "/git/blobs", createBlob, contentsWrite)
	in(get, "/git/blobs/{sha}", getBlob, contentsRead)
	in(post, "/git/trees", createTree, contentsWrite)
	in(get, "/git/trees/{sha...}", getTree, contentsRead)
	in(post, "/git/commits", createCommit, contentsWrite)
	in(get, "/git/commits/{sha}", getGitCommit, contentsRead)

	in(get, "/issues", listIssues, issuesRead)
	in(get, "/issues/comments/{comment}", getComment, issuesRead, pullsRead)
	in(patch, "/issues/comments/{comment}", editComment, issuesWrite, pullsWrite)
	in(del, "/issues/comments/{comment}", deleteComment, issuesWrite, pullsWrite)
	in(get, "/issues/comments/{comment}/reactions", listReactions, issuesRead, pullsRead)
	in(post, "/issues/comments/{comment}/reactions", createReaction, issuesWrite, pullsWrite)
	in(get, "/issues/{issue}", getIssue, issuesRead, pullsRead)
	in(patch, "/issues/{issue}", editIssue, issuesWrite, pullsWrite)
	in(get, "/issues/{issue}/comments", listComments, issuesRead, pullsRead)
	in(get, "/issues/{issue}/events", listIssueEvents, issuesRead, pullsRead)
	in(post, "/issues/{issue}/comments", createComment, issuesWrite, pullsWrite)
	in(get, "/issues/{issue}/reactions", listReactions, issuesRead, pullsRead)
	in(post, "/issues/{issue}/reactions", createReaction, issuesWrite, pullsWrite)
	in(get, "/issues/{issue}/labels", listLabels, issuesRead, pullsRead)
	in(post, "/issues/{issue}/labels", addLabels, issuesWrite, pullsWrite)
	in(del, "/issues/{issue}/labels/{label}", removeLabel, issuesWrite, pullsWrite)

	in(post, "/check-runs", createCheck, checksWrite)
	in(get, "/check-runs/{check}", getCheck, checksRead)
	in(patch, "/check-runs/{check}", updateCheck, checksWrite)
	in(get, "/pulls", listPulls, pullsRead)
	in(post, "/pulls", createPull, pullsWrite)
	in(get, "/pulls/{issue}", getPull, pullsRead)
	in(patch, "/pulls/{issue}", editPull, pullsWrite)
	in(get, "/pulls/{issue}/files", listFiles, pullsRead)
	return all
}
