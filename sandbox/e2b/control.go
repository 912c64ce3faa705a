package e2b

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// machine is a sandbox as the control plane shows it: what making, forking and
// connecting answer, and with more of it what asking for one answers.
type machine struct {
	ID        string            `json:"sandboxID"`
	Template  string            `json:"templateID"`
	Version   string            `json:"envdVersion"`
	Token     string            `json:"envdAccessToken"`
	Domain    string            `json:"domain"`
	State     string            `json:"state"` // not from making, forking and connecting
	CPUs      int               `json:"cpuCount"`
	MemoryMiB int               `json:"memoryMB"`
	DiskMiB   int               `json:"diskSizeMB"`
	Metadata  map[string]string `json:"metadata"`
	StartedAt time.Time         `json:"startedAt"`
}

// paused is machine.State of one that holds no slot.
const paused = "paused"

// network are the rules of what a sandbox may reach, and of who may reach it.
type network struct {
	AllowOut []string `json:"allowOut,omitempty"`
	DenyOut  []string `json:"denyOut,omitempty"`
	// Internet is a field of the update only; it stands beside network when a sandbox is made.
	Internet *bool `json:"allow_internet_access,omitempty"`
	// Public is for making only: whether other ports than the daemon's can be reached by anybody.
	Public *bool `json:"allowPublicTraffic,omitempty"`
}

// creation is the body of making a sandbox. Timeout is always sent: without one
// the service takes 15 s or 5 min.
type creation struct {
	Template  string            `json:"templateID"`
	Timeout   int               `json:"timeout"`
	Metadata  map[string]string `json:"metadata"`
	Internet  *bool             `json:"allow_internet_access,omitempty"`
	Network   network           `json:"network"`
	AutoPause bool              `json:"autoPause"`
	// Secure is for the first version of the route; the second secures always.
	Secure bool `json:"secure,omitempty"`
}

// create makes a sandbox. A server without the second version of the route is
// asked by the first one.
func (c *control) create(ctx context.Context, body creation) (machine, error) {
	var m machine
	r := request{what: "create sandbox", method: http.MethodPost, path: "/v2/sandboxes", body: body, makes: true, slow: true}
	if !c.old.Load() {
		_, err := c.call(ctx, r, &m)
		if !missing(err) {
			return m, err
		}
	}
	body.Secure = true
	r.path, r.body = "/sandboxes", body
	_, err := c.call(ctx, r, &m)
	if err == nil {
		c.old.Store(true)
	}
	return m, err
}

// missing reports the answers of a server that does not know a route. They may
// also mean that it does not know the thing.
func missing(err error) bool {
	s := status(err)
	return s == http.StatusNotFound || s == http.StatusMethodNotAllowed
}

// get reads one sandbox.
func (c *control) get(ctx context.Context, id string) (machine, error) {
	var m machine
	_, err := c.call(ctx, request{what: "read sandbox", method: http.MethodGet, path: "/sandboxes/" + segment(id)}, &m)
	return m, err
}

// list reads all sandboxes, running and paused, that carry the metadata. One that
// is being frozen or forked is missing from it.
func (c *control) list(ctx context.Context, metadata map[string]string) ([]machine, error) {
	query := url.Values{"metadata": {filter(metadata)}, "limit": {"100"}}
	r := request{what: "list sandboxes", method: http.MethodGet, path: "/v2/sandboxes", query: query}
	if c.old.Load() {
		r.path = "/sandboxes"
	} else {
		r.query.Set("state", "running,paused")
	}
	all, err := pages[machine](ctx, c, r)
	if missing(err) && r.path != "/sandboxes" {
		r.path = "/sandboxes"
		r.query.Del("state")
		all, err = pages[machine](ctx, c, r)
	}
	return all, err
}

// pages follows a list to its end.
func pages[T any](ctx context.Context, c *control, r request) ([]T, error) {
	var all []T
	seen := map[string]bool{}
	for {
		var page []T
		header, err := c.call(ctx, r, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		next := header.Get("X-Next-Token")
		if next == "" {
			return all, nil
		}
		if seen[next] {
			return nil, errors.New(r.what + ": the pages go round in a circle")
		}
		seen[next] = true
		r.query.Set("nextToken", next)
	}
}

// filter writes a metadata filter: the server unescapes the whole before it
// splits it into pairs, and each key and value once more.
func filter(metadata map[string]string) string {
	var pairs []string
	for k, v := range metadata {
		pairs = append(pairs, twice(k)+"="+twice(v))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

func twice(text string) string {
	return url.QueryEscape(strings.ReplaceAll(url.QueryEscape(text), "+", "%20"))
}

// remove kills a sandbox, running or paused. One that is gone is no error.
func (c *control) remove(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{what: "kill sandbox", method: http.MethodDelete, path: "/sandboxes/" + segment(id)}, nil)
	if status(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// renew lets a running sandbox live for so long from now.
func (c *control) renew(ctx context.Context, id string, life time.Duration) error {
	body := map[string]int{"timeout": seconds(life)}
	_, err := c.call(ctx, request{what: "extend sandbox", method: http.MethodPost, path: "/sandboxes/" + segment(id) + "/timeout", body: body}, nil)
	return err
}

// connect wakes a sandbox if it is paused, and gives its token.
func (c *control) connect(ctx context.Context, id string, life time.Duration) (machine, error) {
	var m machine
	body := map[string]int{"timeout": seconds(life)}
	_, err := c.call(ctx, request{what: "connect to sandbox", method: http.MethodPost, path: "/v2/sandboxes/" + segment(id) + "/connect", body: body, slow: true}, &m)
	return m, err
}

// pause stops a sandbox and keeps it, without cost. One that is paused is no error.
func (c *control) pause(ctx context.Context, id string) error {
	body := map[string]bool{"memory": true}
	_, err := c.call(ctx, request{what: "pause sandbox", method: http.MethodPost, path: "/sandboxes/" + segment(id) + "/pause", body: body, slow: true}, nil)
	if status(err) != http.StatusConflict {
		return err
	}
	m, look := c.get(ctx, id)
	if look == nil && m.State == paused {
		return nil
	}
	return errors.Join(err, look)
}

// restrict replaces what a sandbox may reach.
func (c *control) restrict(ctx context.Context, id string, n network) error {
	_, err := c.call(ctx, request{what: "set network", method: http.MethodPut, path: "/sandboxes/" + segment(id) + "/network", body: n}, nil)
	return err
}

// seconds rounds up: no time at all ends a sandbox.
func seconds(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }

// forked is one of the answers of a fork: a sandbox, or why not.
type forked struct {
	Sandbox *machine `json:"sandbox"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// fork makes n running copies of a running sandbox.
func (c *control) fork(ctx context.Context, id string, n int, life time.Duration) ([]forked, error) {
	var all []forked
	body := map[string]int{"timeout": seconds(life), "count": n}
	_, err := c.call(ctx, request{
		what: "fork sandbox", method: http.MethodPost, path: "/sandboxes/" + segment(id) + "/fork", body: body, makes: true, slow: true,
	}, &all)
	return all, err
}

// snapshot is a frozen sandbox, from which others start.
type snapshot struct {
	ID    string   `json:"snapshotID"`
	Names []string `json:"names"`
}

// snap freezes a copy of a running sandbox under a name.
func (c *control) snap(ctx context.Context, id, name string) (snapshot, error) {
	var s snapshot
	_, err := c.call(ctx, request{
		what: "freeze sandbox", method: http.MethodPost, path: "/sandboxes/" + segment(id) + "/snapshots",
		body: map[string]string{"name": name}, makes: true, slow: true,
	}, &s)
	return s, err
}

// snapshots lists those of the team, or with a sandbox's id those made of it.
func (c *control) snapshots(ctx context.Context, of string) ([]snapshot, error) {
	query := url.Values{"limit": {strconv.Itoa(100)}}
	if of != "" {
		query.Set("sandboxID", of)
	}
	return pages[snapshot](ctx, c, request{what: "list snapshots", method: http.MethodGet, path: "/snapshots", query: query})
}

// forget deletes a snapshot. One that is gone is no error.
func (c *control) forget(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{what: "delete snapshot", method: http.MethodDelete, path: "/templates/" + segment(id)}, nil)
	if status(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// segment escapes one part of a path, colons and slashes, too.
func segment(text string) string { return url.QueryEscape(text) }
