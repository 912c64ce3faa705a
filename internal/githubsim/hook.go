package githubsim

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
)

// hookTimeout is how long GitHub waits for a webhook's answer.
const hookTimeout = 10 * time.Second

// delivery is one event on its way to one app, and its line in the delivery log.
type delivery struct {
	id         int64
	app        *app
	guid       string
	event      string
	action     string
	inst, repo int64
	payload    []byte
	again      bool // a redelivery
	queued     time.Time
	at         time.Time
	took       time.Duration
	header     http.Header
	status     string
	code       int
	respHeader http.Header
	respBody   string
	done       bool
	wait       time.Duration
	late       bool // let the next one pass first
}

// installed lists the installations that cover a repository, by id.
func (h *Hub) installed(r *repo) []*installation {
	var all []*installation
	for _, in := range h.installs {
		if in.covers(r) && in.suspended.IsZero() {
			all = append(all, in)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].id < all[j].id })
	return all
}

// emit sends an event in a repository to every app that is subscribed to it;
// all get the same GUID.
func (h *Hub) emit(r *repo, event, action string, by *user, fill obj) {
	guid := newGUID()
	for _, in := range h.installed(r) {
		if slices.Contains(in.app.events, event) && rank(in.perms[rightFor(event)]) > 0 {
			h.enqueue(in.app, guid, event, action, in, r, merge(obj{"sender": h.userJSON(by)}, fill))
		}
	}
}

// emitTo sends an event to one app, as check events go: whoever writes checks gets them unasked.
func (h *Hub) emitTo(a *app, r *repo, event, action string, by *user, fill obj) {
	for _, in := range h.installed(r) {
		if in.app == a && rank(in.perms["checks"]) > 0 {
			h.enqueue(a, newGUID(), event, action, in, r, merge(obj{"sender": h.userJSON(by)}, fill))
		}
	}
}

// tell sends an event about the installation itself.
func (h *Hub) tell(in *installation, event, action string, by *user, fill obj) {
	fill = merge(obj{"installation": h.installationJSON(in), "sender": h.userJSON(by)}, fill)
	h.enqueue(in.app, newGUID(), event, action, in, nil, fill)
}

// rightFor is the permission that an event needs.
func rightFor(event string) string {
	switch event {
	case "pull_request", "pull_request_review", "pull_request_review_comment":
		return "pull_requests"
	case "issues", "issue_comment":
		return "issues"
	case "check_run", "check_suite":
		return "checks"
	case "push":
		return "contents"
	}
	return "metadata"
}

// enqueue puts an event into the app's queue and the delivery log.
func (h *Hub) enqueue(a *app, guid, event, action string, in *installation, r *repo, payload obj) {
	d := &delivery{id: h.id() + 12_000_000_000, app: a, guid: guid, event: event, action: action, queued: h.now()}
	if action != "" {
		payload["action"] = action
	}
	if in != nil {
		d.inst = in.id
		if payload["installation"] == nil {
			payload["installation"] = obj{"id": in.id, "node_id": nodeID("Installation", in.id)}
		}
	}
	if r != nil {
		d.repo = r.id
		payload["repository"] = h.repoJSON(r)
	}
	text, err := json.Marshal(payload)
	if err != nil {
		h.opts.Log.Error().Err(err).Str(logkey.Event, event).Msg("payload not encoded")
		return
	}
	d.payload = text
	h.dispatch(d)
}

// dispatch queues a delivery, disturbed as the script says, and sees that a sender runs.
func (h *Hub) dispatch(d *delivery) {
	if h.closed {
		return
	}
	d.app.deliveries = append(d.app.deliveries, d)
	copies := 1
	switch x := h.disturbance(d); {
	case x == nil:
	case x.Kind == DisturbDrop:
		d.at, d.done, d.status, d.code = h.now(), true, "failed to connect to host", http.StatusBadGateway
		d.header = d.headers()
		return
	case x.Kind == DisturbDuplicate:
		copies = 2
	case x.Kind == DisturbReorder:
		d.late = true
	case x.Kind == DisturbDelay:
		d.wait = x.Delay
	}
	for range copies {
		d.app.queue = append(d.app.queue, d)
	}
	if !d.app.sending {
		d.app.sending = true
		go h.send(d.app)
	}
}

// send empties the app's queue in order, and ends.
func (h *Hub) send(a *app) {
	client := &http.Client{Transport: h.opts.WebhookTransport, Timeout: hookTimeout}
	for {
		h.mu.Lock()
		if len(a.queue) == 0 {
			a.sending = false
			h.signal()
			h.mu.Unlock()
			return
		}
		if a.queue[0].late && len(a.queue) == 1 && !h.closed { // nothing to let pass yet
			changed := h.changed
			h.mu.Unlock()
			<-changed
			continue
		}
		if a.queue[0].late && len(a.queue) > 1 {
			a.queue[0].late = false
			a.queue[0], a.queue[1] = a.queue[1], a.queue[0]
		}
		d, url := a.queue[0], a.hookURL
		a.queue = a.queue[1:]
		wait := d.wait
		d.wait = 0
		h.mu.Unlock()
		if wait > 0 {
			h.pause(wait)
		}
		h.attempt(client, d, url)
	}
}

// pause waits, but not for a hub that is closed.
func (h *Hub) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		h.mu.Lock()
		closed, changed := h.closed, h.changed
		h.mu.Unlock()
		if closed {
			return
		}
		select {
		case <-timer.C:
			return
		case <-changed:
		}
	}
}

// headers are the request headers of a delivery, signatures included if there is a secret.
func (d *delivery) headers() http.Header {
	sign256 := hmac.New(sha256.New, []byte(d.app.secret))
	sign256.Write(d.payload)
	sign1 := hmac.New(sha1.New, []byte(d.app.secret))
	sign1.Write(d.payload)
	out := http.Header{}
	for k, v := range map[string]string{
		"Accept": "*/*", "Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/" + d.guid[:7],
		"X-GitHub-Event": d.event, "X-GitHub-Delivery": d.guid, "X-GitHub-Hook-ID": strconv.FormatInt(d.app.hookID, 10),
		"X-GitHub-Hook-Installation-Target-ID":   strconv.FormatInt(d.app.id, 10),
		"X-GitHub-Hook-Installation-Target-Type": "integration",
		"X-Hub-Signature-256":                    "sha256=" + hex.EncodeToString(sign256.Sum(nil)),
		"X-Hub-Signature":                        "sha1=" + hex.EncodeToString(sign1.Sum(nil)),
	} {
		out.Set(k, v)
	}
	if d.app.secret == "" {
		out.Del("X-Hub-Signature-256")
		out.Del("X-Hub-Signature")
	}
	return out
}

// attempt posts a delivery once and writes down what came of it.
func (h *Hub) attempt(client *http.Client, d *delivery, url string) {
	start, header := time.Now(), d.headers()
	code, respHeader, body, err := post(client, url, header, d.payload)
	h.mu.Lock()
	defer h.mu.Unlock()
	d.at, d.took, d.header, d.done = h.now(), time.Since(start), header, true
	d.code, d.respHeader, d.respBody = code, respHeader, body
	switch {
	case err != nil:
		d.status, d.code, d.respBody = "failed to connect to host", http.StatusBadGateway, ""
	default:
		d.status = http.StatusText(code)
		if code < http.StatusMultipleChoices {
			d.status = "OK"
		}
	}
	entry, err := d.entry()
	if err == nil {
		err = h.record(entry)
	}
	if err != nil {
		h.opts.Log.Error().Err(err).Msg("history not written")
	}
	h.opts.Log.Debug().Str(logkey.Event, d.event).Str(logkey.DeliveryID, d.guid).Str(logkey.State, d.status).Msg("webhook delivered")
	h.signal()
}

func post(client *http.Client, url string, header http.Header, payload []byte) (int, http.Header, string, error) {
	if url == "" {
		return 0, nil, "", fmt.Errorf("deliver webhook: no address")
	}
	ctx, cancel := context.WithTimeout(context.Background(), hookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return 0, nil, "", fmt.Errorf("deliver webhook: %w", err)
	}
	req.Header = header.Clone()
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, "", fmt.Errorf("deliver webhook: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return 0, nil, "", fmt.Errorf("deliver webhook: %w", err)
	}
	return resp.StatusCode, resp.Header, string(body), nil
}
