package githubsim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Record is one line of the history: a request that could change something, or
// one attempt at a webhook delivery.
type Record struct {
	Seq    int       `json:"seq"`
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"` // "request" or "delivery"
	Status int       `json:"status"`

	// Of requests. Actor is "app 5", "installation 7" or "nobody". Target is
	// what was made or changed ("comment 12", "pull 3", "ref refs/heads/x") and
	// empty when nothing was. Body is the request's, unless it was not JSON.
	Method string          `json:"method,omitempty"`
	Path   string          `json:"path,omitempty"`
	Actor  string          `json:"actor,omitempty"`
	Target string          `json:"target,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`

	// Of deliveries. Repo is owner/name, Text the label's name or the comment's text.
	Event      string `json:"event,omitempty"`
	Action     string `json:"action,omitempty"`
	GUID       string `json:"guid,omitempty"`
	Redelivery bool   `json:"redelivery,omitempty"`
	Repo       string `json:"repo,omitempty"`
	Issue      int    `json:"issue,omitempty"`
	Sender     string `json:"sender,omitempty"`
	Text       string `json:"text,omitempty"`
}

// History is everything that happened so far, oldest first.
func (h *Hub) History() []Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.history)
}

// entry describes an answered request.
func (c *call) entry(out reply) Record {
	r := Record{
		Kind: "request", Status: out.status, Method: c.req.Method, Path: strings.TrimPrefix(c.req.URL.Path, c.hub.opts.APIPrefix),
		Actor: c.spender(), Target: out.target,
	}
	if json.Valid(c.body) {
		r.Body = bytes.Clone(bytes.TrimSpace(c.body))
	}
	return r
}

// entry describes an attempt at a delivery and what it was about.
func (d *delivery) entry() (Record, error) {
	var p struct {
		Repository struct {
			FullName string `json:"full_name"`
		}
		Issue   struct{ Number int }
		Sender  struct{ Login string }
		Label   struct{ Name string }
		Comment struct{ Body string }
	}
	if err := json.Unmarshal(d.payload, &p); err != nil {
		return Record{}, fmt.Errorf("decode payload: %w", err)
	}
	return Record{
		Kind: "delivery", Status: d.code, Event: d.event, Action: d.action, GUID: d.guid, Redelivery: d.again,
		Actor: fmt.Sprintf("app %d", d.app.id), Repo: p.Repository.FullName, Issue: p.Issue.Number,
		Sender: p.Sender.Login, Text: cmp.Or(p.Label.Name, p.Comment.Body),
	}, nil
}

// record appends to the history, and to its file, flushed to disk.
func (h *Hub) record(r Record) error {
	r.Seq, r.Time = len(h.history)+1, h.now()
	h.history = append(h.history, r)
	if h.opts.HistoryFile == "" || h.closed {
		return nil
	}
	if h.historyOut == nil {
		f, err := os.OpenFile(h.opts.HistoryFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("open history: %w", err)
		}
		h.historyOut = f
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode history: %w", err)
	}
	if _, err := h.historyOut.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	if err := h.historyOut.Sync(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// Requests counts the recorded requests of a method whose path contains part
// and that were answered with a 2xx: what a checker asks most.
func (h *Hub) Requests(method, part string) int {
	n := 0
	for _, r := range h.History() {
		if r.Kind == "request" && r.Method == method && strings.Contains(r.Path, part) && r.Status < http.StatusMultipleChoices {
			n++
		}
	}
	return n
}
