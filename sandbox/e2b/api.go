package e2b

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// machine is a sandbox as the control plane shows it: what making, forking and
// connecting answer, and with more of it what asking for one answers.
type machine struct {
	ID        string            `json:"sandboxID"`
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

// The keys of a sandbox's metadata: [a-z-] alone, which needs no escaping.
const (
	metaDeployment = "yudai-deployment"
	metaName       = "yudai-name"
	metaCall       = "yudai-call"
	metaLabel      = "yudai-label-"
)

// metadata is what a new sandbox carries at the service. Forks have their parent's.
func (p *provider) metadata(n cloud.Note) map[string]string {
	m := map[string]string{metaDeployment: p.journal.Deployment(), metaName: n.Name, metaCall: n.Key}
	for k, v := range n.Labels {
		m[metaLabel+k] = v
	}
	return m
}

// create makes a sandbox. A server without the second version of the route is
// asked by the first one.
func (p *provider) create(ctx context.Context, body creation) (machine, error) {
	var m machine
	k := cloud.Call{Method: http.MethodPost, Path: "/v2/sandboxes", Body: body, Answer: &m, Makes: true, Slow: true}
	if !p.old.Load() {
		_, err := p.control.Do(ctx, k)
		if !cloud.NotOffered(err) {
			return m, err
		}
	}
	body.Secure = true
	k.Path, k.Body = "/sandboxes", body
	_, err := p.control.Do(ctx, k)
	if err == nil {
		p.old.Store(true)
	}
	return m, err
}

// make sends a request that makes something, or takes its time.
func (p *provider) make(ctx context.Context, path string, body, answer any, makes bool) error {
	_, err := p.control.Do(ctx, cloud.Call{Method: http.MethodPost, Path: path, Body: body, Answer: answer, Makes: makes, Slow: true})
	return err
}

// get reads one sandbox.
func (p *provider) get(ctx context.Context, id string) (machine, error) {
	var m machine
	return m, p.control.Ask(ctx, http.MethodGet, cloud.Path("sandboxes", id), nil, &m)
}

// list reads all sandboxes, running and paused, that carry the metadata. One that
// is being frozen or forked is missing from it.
func (p *provider) list(ctx context.Context, key, value string) ([]machine, error) {
	query := url.Values{"metadata": {filter(key, value)}, "limit": {"100"}}
	if !p.old.Load() {
		second := url.Values{"metadata": query["metadata"], "limit": query["limit"], "state": {"running,paused"}}
		all, err := pages[machine](ctx, p.control, "/v2/sandboxes", second)
		if !cloud.NotOffered(err) {
			return known(all), err
		}
	}
	all, err := pages[machine](ctx, p.control, "/sandboxes", query)
	return known(all), err
}

// known leaves out what has no proper id.
func known(all []machine) []machine {
	return slices.DeleteFunc(all, func(m machine) bool { return !cloud.IsID(m.ID) })
}

// filter asks for a key and its value in metadata: the server unescapes the whole
// before it splits it, and each part once more.
func filter(key, value string) string {
	twice := func(text string) string {
		return url.QueryEscape(strings.ReplaceAll(url.QueryEscape(text), "+", "%20"))
	}
	return twice(key) + "=" + twice(value)
}

// pages follows a list to its end.
func pages[T any](ctx context.Context, c *cloud.Client, path string, query url.Values) ([]T, error) {
	var all []T
	seen := map[string]bool{}
	for {
		var page []T
		header, err := c.Do(ctx, cloud.Call{Method: http.MethodGet, Path: path, Query: query, Answer: &page})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		next := header.Get("X-Next-Token")
		if next == "" {
			return all, nil
		}
		if seen[next] {
			return nil, errors.New("GET " + path + ": the pages go round in a circle")
		}
		seen[next] = true
		query.Set("nextToken", next)
	}
}

// remove kills a sandbox, running or paused.
func (p *provider) remove(ctx context.Context, id string) error {
	return p.control.Delete(ctx, cloud.Path("sandboxes", id))
}

// renew lets a running sandbox live for so long from now.
func (p *provider) renew(ctx context.Context, id string, life time.Duration) error {
	return p.control.Ask(ctx, http.MethodPost, cloud.Path("sandboxes", id, "timeout"), map[string]int{"timeout": seconds(life)}, nil)
}

// connect wakes a sandbox if it is paused, and gives its token.
func (p *provider) connect(ctx context.Context, id string, life time.Duration) (machine, error) {
	var m machine
	return m, p.make(ctx, cloud.Path("v2", "sandboxes", id, "connect"), map[string]int{"timeout": seconds(life)}, &m, false)
}

// pause stops a sandbox and keeps it, without cost. One that is paused is no error.
func (p *provider) pause(ctx context.Context, id string) error {
	err := p.make(ctx, cloud.Path("sandboxes", id, "pause"), map[string]bool{"memory": true}, nil, false)
	if !cloud.HasStatus(err, http.StatusConflict) {
		return err
	}
	m, look := p.get(ctx, id)
	if look == nil && m.State == paused {
		return nil
	}
	return errors.Join(err, look)
}

// setNetwork replaces all rules that there are.
func (p *provider) setNetwork(ctx context.Context, id string, n network) error {
	no := false
	n.Internet = &no
	return p.control.Ask(ctx, http.MethodPut, cloud.Path("sandboxes", id, "network"), n, nil)
}

// seconds rounds up: no time at all ends a sandbox.
func seconds(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }

// forked is one of the answers of a fork: a sandbox, or nothing.
type forked struct {
	Sandbox *machine `json:"sandbox"`
}

// forkMachine makes n running copies of a running sandbox.
func (p *provider) forkMachine(ctx context.Context, id string, n int, life time.Duration) ([]forked, error) {
	var all []forked
	return all, p.make(ctx, cloud.Path("sandboxes", id, "fork"), map[string]int{"timeout": seconds(life), "count": n}, &all, true)
}

// snapshot is a frozen sandbox, from which others start.
type snapshot struct {
	ID    string   `json:"snapshotID"`
	Names []string `json:"names"`
}

// named returns the snapshot's name that begins so, "" if there is none.
func (s snapshot) named(prefix string) string {
	for _, name := range append([]string{s.ID}, s.Names...) {
		name, _, _ = strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
		if strings.HasPrefix(name, prefix) {
			return name
		}
	}
	return ""
}

// takeSnapshot freezes a copy of a running sandbox under a name.
func (p *provider) takeSnapshot(ctx context.Context, id, name string) (snapshot, error) {
	var s snapshot
	return s, p.make(ctx, cloud.Path("sandboxes", id, "snapshots"), map[string]string{"name": name}, &s, true)
}

// snapshots lists those of the team, or with a sandbox's id those made of it.
func (p *provider) snapshots(ctx context.Context, of string) ([]snapshot, error) {
	query := url.Values{"limit": {"100"}}
	if of != "" {
		query.Set("sandboxID", of)
	}
	return pages[snapshot](ctx, p.control, "/snapshots", query)
}

// deleteSnapshot deletes a snapshot.
func (p *provider) deleteSnapshot(ctx context.Context, id string) error {
	return p.control.Delete(ctx, cloud.Path("templates", id))
}

// Find lists the machines that the call of a note made.
func (p *provider) Find(ctx context.Context, n *cloud.Note) ([]string, error) {
	machines, err := p.list(ctx, metaCall, n.Key)
	var ids []string
	for _, m := range machines {
		ids = append(ids, m.ID)
	}
	return ids, err
}

// List lists the machines and snapshots of this deployment.
func (p *provider) List(ctx context.Context) (machines, snapshots []cloud.Listed, err error) {
	all, err := p.list(ctx, metaDeployment, p.journal.Deployment())
	if err != nil {
		return nil, nil, err
	}
	for _, m := range slices.DeleteFunc(all, func(m machine) bool { return m.Metadata[metaDeployment] != p.journal.Deployment() }) {
		l := cloud.Listed{ID: m.ID, Name: m.Metadata[metaName], Labels: map[string]string{}, Created: m.StartedAt}
		for k, v := range m.Metadata {
			if key, ok := strings.CutPrefix(k, metaLabel); ok {
				l.Labels[key] = v
			}
		}
		machines = append(machines, l)
	}
	made, err := p.snapshots(ctx, "")
	if err != nil && !cloud.NotOffered(err) { // a server without snapshots has none of ours
		return nil, nil, err
	}
	for _, s := range made {
		if name := s.named(p.snapshotPrefix()); name != "" {
			snapshots = append(snapshots, cloud.Listed{ID: s.ID, Name: name})
		}
	}
	return machines, snapshots, nil
}

// Remove kills machines. One that is forked now is first left alone by that.
func (p *provider) Remove(ctx context.Context, ids []string) map[string]error {
	failed := map[string]error{}
	for _, id := range ids {
		p.stopForking(id)
		if err := p.remove(ctx, id); err != nil {
			failed[id] = err
		}
	}
	return failed
}
