package githubsim

import (
	"net/http"
	"strconv"
	"time"
)

// budget counts the requests of one app or installation in the current hour,
// and its content-creating requests.
type budget struct {
	limit, used int
	reset       time.Time
	writes      []time.Time
}

// spender names whose budget a call uses.
func (c *call) spender() string {
	switch {
	case c.token != nil:
		return "installation " + strconv.FormatInt(c.token.inst.id, 10)
	case c.app != nil:
		return "app " + strconv.FormatInt(c.app.id, 10)
	}
	if c.person != nil {
		return "user " + c.person.login
	}
	return "nobody"
}

func (h *Hub) budget(who string) *budget {
	b := h.budgets[who]
	if b == nil {
		b = &budget{limit: h.opts.RateLimit}
		h.budgets[who] = b
	}
	if now := h.now(); !now.Before(b.reset) {
		b.used, b.reset = 0, now.Add(time.Hour).Truncate(time.Second)
	}
	return b
}

func (b *budget) left() int { return max(b.limit-b.used, 0) }

func (b *budget) header() http.Header {
	return http.Header{
		"X-Ratelimit-Limit":     {strconv.Itoa(b.limit)},
		"X-Ratelimit-Remaining": {strconv.Itoa(b.left())},
		"X-Ratelimit-Used":      {strconv.Itoa(b.used)},
		"X-Ratelimit-Reset":     {strconv.FormatInt(b.reset.Unix(), 10)},
		"X-Ratelimit-Resource":  {"core"},
	}
}

// spend counts the call and refuses it when a limit is reached.
func (h *Hub) spend(c *call) *reply {
	b := h.budget(c.spender())
	if b.left() == 0 {
		return refuse(http.StatusForbidden, "API rate limit exceeded for installation ID "+c.spender()+".")
	}
	b.used++
	if c.req.Method == http.MethodGet || c.token == nil {
		return nil
	}
	now, minute := h.now(), 0
	kept := b.writes[:0]
	for _, t := range b.writes {
		if now.Sub(t) < time.Hour {
			kept = append(kept, t)
		}
		if now.Sub(t) < time.Minute {
			minute++
		}
	}
	b.writes = kept
	if over(minute, h.opts.WritesPerMinute) || over(len(kept), h.opts.WritesPerHour) {
		r := secondary(http.StatusForbidden, true).with("Retry-After", "60")
		return &r
	}
	b.writes = append(b.writes, now)
	return nil
}

func over(n, limit int) bool { return limit > 0 && n >= limit }

// secondary is GitHub's refusal by a secondary limit, with or without the
// documentation address by which go-github knows it.
func secondary(status int, address bool) reply {
	r := fail(status, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
	body, _ := r.body.(obj)
	if address {
		body["documentation_url"] = docs + "/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"
	} else {
		delete(body, "documentation_url")
	}
	return r
}

// abuse is the same refusal as older servers word it.
func abuse() reply {
	r := fail(http.StatusForbidden, "You have triggered an abuse detection mechanism. Please wait a few minutes before you try again.")
	body, _ := r.body.(obj)
	body["documentation_url"] = docs + "/overview/resources-in-the-rest-api#abuse-rate-limits"
	return r
}

func getRateLimit(c *call) reply {
	b := c.hub.budget(c.spender())
	show := func(limit, used int) obj {
		return obj{"limit": limit, "used": used, "remaining": max(limit-used, 0), "reset": b.reset.Unix()}
	}
	core := show(b.limit, b.used)
	return ok(obj{
		"resources": obj{
			"core": core, "search": show(30, 0), "graphql": show(5000, 0), "integration_manifest": show(5000, 0),
		},
		"rate": core,
	})
}
