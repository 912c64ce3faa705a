package githubsim

import (
	"net/http"
	"sort"
	"strings"
)

func getApp(c *call) reply {
	out, _ := c.hub.appJSON(c.app).(obj)
	n := 0
	for _, in := range c.hub.installs {
		if in.app == c.app {
			n++
		}
	}
	out["installations_count"] = n
	return ok(out)
}

func listInstallations(c *call) reply {
	var all []*installation
	for _, in := range c.hub.installs {
		if in.app == c.app {
			all = append(all, in)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].id < all[j].id })
	return list(c, all, c.hub.installationJSON)
}

func getInstallation(c *call) reply {
	in, denied := c.installation()
	if denied != nil {
		return *denied
	}
	return ok(c.hub.installationJSON(in))
}

func getRepoInstallation(c *call) reply {
	for _, in := range c.hub.installs {
		if in.app == c.app && in.covers(c.repo) {
			return ok(c.hub.installationJSON(in))
		}
	}
	return notFound()
}

func listRepos(c *call) reply {
	all := c.hub.reposOf(c.token)
	some, link := page(c, all)
	repos := []obj{}
	for _, r := range some {
		repos = append(repos, c.hub.repoJSON(r))
	}
	out := ok(obj{"total_count": len(all), "repository_selection": c.token.inst.selection(), "repositories": repos})
	if link != "" {
		out = out.with("Link", link)
	}
	return out
}

func revoke(c *call) reply {
	delete(c.hub.tokens, c.raw)
	return reply{status: http.StatusNoContent}.about("token revoked")
}

func getUser(c *call) reply {
	u, err := c.hub.user(c.args["login"])
	if err != nil {
		return notFound()
	}
	return ok(c.hub.publicUser(u))
}

// publicUser is somebody as everybody sees them.
func (h *Hub) publicUser(u *user) obj {
	out := h.userJSON(u)
	merge(out, obj{
		"name": nil, "company": nil, "blog": "", "location": nil, "email": nil, "hireable": nil, "bio": nil,
		"public_repos": 0, "public_gists": 0, "followers": 0, "following": 0,
		"created_at": stamp(u.created), "updated_at": stamp(u.created),
	})
	return out
}

func getRepo(c *call) reply { return ok(c.hub.repoJSON(c.repo)) }

func getPermission(c *call) reply {
	u, err := c.hub.user(c.args["login"])
	if err != nil {
		return fail(http.StatusNotFound, c.args["login"]+" is not a user")
	}
	role := c.repo.role(u)
	permission := role
	switch role {
	case "maintain":
		permission = "write"
	case "triage":
		permission = "read"
	}
	who := c.hub.userJSON(u)
	at := strings.Index("none read triage write maintain admin", role)
	can := func(level string) bool { return at >= strings.Index("none read triage write maintain admin", level) }
	who["role_name"] = role
	who["permissions"] = obj{"pull": can("read"), "triage": can("triage"), "push": can("write"), "maintain": can("maintain"), "admin": can("admin")}
	return ok(obj{"permission": permission, "role_name": role, "user": who})
}

func getRules(c *call) reply {
	rules := c.repo.rules[c.args["branch"]]
	if rules == nil {
		rules = []obj{}
	}
	return ok(rules)
}
