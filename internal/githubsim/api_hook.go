package githubsim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// keepDeliveries is how long the delivery log reaches back.
const keepDeliveries = 3 * 24 * time.Hour

func (h *Hub) hookJSON(a *app) obj {
	return obj{
		"type": "App", "id": a.hookID, "name": "web", "active": true, "events": a.events, "app_id": a.id,
		"config":     obj{"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": orPlaceholder(a.hookURL)},
		"updated_at": stamp(a.created), "created_at": stamp(a.created),
		"deliveries_url": h.api() + "/app/hook/deliveries",
	}
}

func orPlaceholder(url string) string {
	if url == "" {
		return "http://webhook.invalid/"
	}
	return url
}

func (d *delivery) row() obj {
	row := obj{
		"id": d.id, "guid": d.guid, "delivered_at": d.at.Format("2006-01-02T15:04:05.000Z"), "redelivery": d.again,
		"duration": d.took.Seconds(), "status": d.status, "status_code": d.code, "event": d.event,
		"action": orNull(d.action), "installation_id": nil, "repository_id": nil, "throttled_at": nil,
	}
	if d.inst != 0 {
		row["installation_id"] = d.inst
	}
	if d.repo != 0 {
		row["repository_id"] = d.repo
	}
	return row
}

// log is the app's delivery log, newest first: attempts that were made.
func (c *call) log() []*delivery {
	var all []*delivery
	for i := len(c.app.deliveries) - 1; i >= 0; i-- {
		if d := c.app.deliveries[i]; d.done && c.hub.now().Sub(d.at) < keepDeliveries {
			all = append(all, d)
		}
	}
	return all
}

func listDeliveries(c *call) reply {
	all := c.log()
	per := min(max(atoi(c.query("per_page"), 30), 1), 100)
	if cursor := c.query("cursor"); cursor != "" {
		text, err := base64.RawURLEncoding.DecodeString(cursor)
		after, err2 := strconv.ParseInt(string(text), 10, 64)
		if err != nil || err2 != nil {
			return fail(http.StatusUnprocessableEntity, "Invalid cursor")
		}
		for len(all) > 0 && all[0].id >= after {
			all = all[1:]
		}
	}
	rows := []obj{}
	for i, d := range all {
		if len(rows) == per {
			next := base64.RawURLEncoding.EncodeToString(strconv.AppendInt(nil, all[i-1].id, 10))
			return ok(rows).with("Link", fmt.Sprintf(`<%s/app/hook/deliveries?per_page=%d&cursor=%s>; rel="next"`, c.hub.api(), per, next))
		}
		if want := c.query("status"); want == "" || (want == "failure") == (d.code >= 400) {
			rows = append(rows, d.row())
		}
	}
	return ok(rows)
}

func (c *call) delivery() *delivery {
	for _, d := range c.log() {
		if d.id == c.number("delivery") {
			return d
		}
	}
	return nil
}

func getDelivery(c *call) reply {
	d := c.delivery()
	if d == nil {
		return notFound()
	}
	row := d.row()
	row["url"] = orPlaceholder(c.app.hookURL)
	row["request"] = obj{"headers": flat(d.header), "payload": json.RawMessage(d.payload)}
	row["response"] = obj{"headers": flat(d.respHeader), "payload": orNull(d.respBody)}
	return ok(row)
}

func flat(header http.Header) any {
	out := obj{}
	for k, v := range header {
		out[k] = v[0]
	}
	return out
}

func redeliver(c *call) reply {
	d := c.delivery()
	if d == nil {
		return notFound()
	}
	c.hub.redeliver(d)
	return reply{status: http.StatusAccepted, body: obj{}}.about("delivery %s", d.guid)
}

// redeliver sends a delivery once more, under its old GUID.
func (h *Hub) redeliver(d *delivery) {
	h.dispatch(&delivery{
		id: h.id() + 12_000_000_000, app: d.app, guid: d.guid, event: d.event, action: d.action, inst: d.inst, repo: d.repo,
		payload: d.payload, again: true, queued: h.now(),
	})
}

// Redeliver sends a delivery of the log once more, as the App's owner does on
// its settings page.
func (h *Hub) Redeliver(app App, id int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a := h.apps[app.ID]; a != nil {
		for _, d := range a.deliveries {
			if d.id == id && d.done {
				h.redeliver(d)
				return nil
			}
		}
	}
	return fmt.Errorf("redeliver %d: %w", id, ErrNotFound)
}
