package e2bsim

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// listed is a sandbox in a list; detail adds to it.
type listed struct {
	SandboxID  string            `json:"sandboxID"`
	TemplateID string            `json:"templateID"`
	Alias      string            `json:"alias,omitempty"`
	ClientID   string            `json:"clientID"`
	StartedAt  time.Time         `json:"startedAt"`
	EndAt      time.Time         `json:"endAt"`
	State      state             `json:"state"`
	CPUs       int               `json:"cpuCount"`
	MemoryMiB  int               `json:"memoryMB"`
	DiskMiB    int               `json:"diskSizeMB"`
	Version    string            `json:"envdVersion"`
	Metadata   map[string]string `json:"metadata,omitempty"`
}

// detail is a sandbox that was asked for by its id.
type detail struct {
	listed
	Token     string    `json:"envdAccessToken,omitempty"`
	Domain    *string   `json:"domain"`
	Internet  *bool     `json:"allowInternetAccess,omitempty"`
	Network   network   `json:"network"`
	Lifecycle lifecycle `json:"lifecycle"`
}

type lifecycle struct {
	AutoResume bool   `json:"autoResume"`
	OnTimeout  string `json:"onTimeout"`
}

// list returns the entry of a sandbox. s.mu is held.
func (s *Server) list(b *box) listed {
	t := b.template
	l := listed{
		SandboxID: b.id, TemplateID: t.ID, Alias: t.alias(), ClientID: "6532622b", StartedAt: b.started, EndAt: b.end, State: b.state,
		CPUs: t.CPUs, MemoryMiB: t.MemoryMiB, DiskMiB: t.DiskMiB, Version: t.Version, Metadata: b.metadata,
	}
	if s.over(b) {
		l.State = paused
	}
	return l
}

// get is GET /sandboxes/{id}.
func (s *Server) get(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.find(r.PathValue("id"))
	if b == nil {
		return 0, nil, gone(r.PathValue("id"))
	}
	d := detail{listed: s.list(b), Token: b.token, Internet: b.network.Internet, Network: b.network, Lifecycle: lifecycle{OnTimeout: "kill"}}
	d.Network.Internet = nil
	if b.autoPause {
		d.Lifecycle.OnTimeout = "pause"
	}
	return http.StatusOK, d, nil
}

// filter is what a list is asked for.
type filter struct {
	metadata map[string]string
	states   []string
	template string
	after    time.Time
	desc     bool
	limit    int
	next     string
}

func parseFilter(q url.Values) (filter, error) {
	f := filter{limit: 100, template: q.Get("template"), desc: q.Get("order") == "desc", states: []string{"running", "paused"}}
	var err error
	if f.metadata, err = parseMetadata(q.Get("metadata")); err != nil {
		return f, err
	}
	if v := strings.Join(q["state"], ","); v != "" {
		f.states = strings.Split(v, ",")
	}
	for _, state := range f.states {
		if state != "running" && state != "paused" {
			return f, refuse(http.StatusBadRequest, "invalid state %q", state)
		}
	}
	if v := q.Get("startedAfter"); v != "" {
		if f.after, err = time.Parse(time.RFC3339, v); err != nil {
			return f, refuse(http.StatusBadRequest, "invalid startedAfter: %v", err)
		}
	}
	if v := q.Get("limit"); v != "" {
		if f.limit, err = strconv.Atoi(v); err != nil || f.limit < 1 || f.limit > 100 {
			return f, refuse(http.StatusBadRequest, "limit must be 1 to 100")
		}
	}
	if v := q.Get("nextToken"); v != "" {
		raw, err := base64.RawURLEncoding.DecodeString(v)
		if err != nil {
			return f, refuse(http.StatusBadRequest, "invalid next token")
		}
		f.next = string(raw)
	}
	return f, nil
}

// parseMetadata reads the filter: it is unescaped as a whole, split, and each key
// and value is unescaped once more.
func parseMetadata(text string) (map[string]string, error) {
	whole, err := url.QueryUnescape(text)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "error when unescaping query: %v", err)
	}
	wanted := map[string]string{}
	for pair := range strings.SplitSeq(whole, "&") {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			continue
		}
		key, err := url.QueryUnescape(k)
		value, err2 := url.QueryUnescape(v)
		if err != nil || err2 != nil {
			return nil, refuse(http.StatusBadRequest, "error when unescaping key or value of %q", pair)
		}
		wanted[key] = value
	}
	return wanted, nil
}

func (f filter) takes(l listed) bool {
	for k, v := range f.metadata {
		if got, ok := l.Metadata[k]; !ok || got != v {
			return false
		}
	}
	return slices.Contains(f.states, string(l.State)) && l.StartedAt.After(f.after) &&
		(f.template == "" || f.template == l.TemplateID || f.template == l.Alias)
}

// found lists the sandboxes in order, without those that are being captured.
func (s *Server) found(f filter) (all []listed, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, b := range s.boxes {
		if s.find(id) == nil || b.capturing {
			continue
		}
		if l := s.list(b); f.takes(l) {
			all = append(all, l)
			if l.State == running {
				total++
			}
		}
	}
	slices.SortFunc(all, func(a, b listed) int {
		c := a.StartedAt.Compare(b.StartedAt)
		if c == 0 {
			c = strings.Compare(a.SandboxID, b.SandboxID)
		}
		if f.desc {
			c = -c
		}
		return c
	})
	return all, total
}

// place of an entry in the order, for the next page.
func (l listed) key() string { return l.StartedAt.Format(time.RFC3339Nano) + " " + l.SandboxID }

// listSecond is GET /v2/sandboxes, in pages.
func (s *Server) listSecond(w http.ResponseWriter, r *http.Request) (int, any, error) {
	f, err := parseFilter(r.URL.Query())
	if err != nil {
		return 0, nil, err
	}
	all, total := s.found(f)
	if f.next != "" {
		at := slices.IndexFunc(all, func(l listed) bool { return l.after(f.next, f.desc) })
		if at < 0 {
			at = len(all)
		}
		all = all[at:]
	}
	w.Header().Set("X-Total-Running", strconv.Itoa(total))
	if len(all) > f.limit {
		all = all[:f.limit]
		w.Header().Set("X-Next-Token", base64.RawURLEncoding.EncodeToString([]byte(all[f.limit-1].key())))
	}
	return http.StatusOK, notNil(all), nil
}

// after reports whether an entry comes after the one with the key.
func (l listed) after(key string, desc bool) bool {
	stamp, id, _ := strings.Cut(key, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return true
	}
	c := l.StartedAt.Compare(at)
	if c == 0 {
		c = strings.Compare(l.SandboxID, id)
	}
	return c > 0 && !desc || c < 0 && desc
}

// listFirst is GET /sandboxes: what runs, on one page.
func (s *Server) listFirst(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	q := r.URL.Query()
	f, err := parseFilter(url.Values{"metadata": q["metadata"], "state": {"running"}})
	if err != nil {
		return 0, nil, err
	}
	all, _ := s.found(f)
	return http.StatusOK, notNil(all), nil
}

// notNil makes an empty list one.
func notNil[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}
