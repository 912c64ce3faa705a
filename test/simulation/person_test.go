package simulation_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"
)

// act is what the person does.
func (w *world) act() {
	w.t.Helper()
	w.must(w.hub.Label(w.repo.FullName(), w.issue, person, "yudai:solve"))
	if w.scenario.comment == "" {
		return
	}
	time.AfterFunc(w.scenario.after, func() {
		_, err := w.hub.Comment(w.repo.FullName(), w.issue, person, w.scenario.comment)
		w.must(err)
	})
}

// goOn writes the next comment about what is settled; false if there is none left.
func (w *world) goOn() bool {
	w.t.Helper()
	if w.said == len(w.scenario.then) {
		return false
	}
	_, err := w.hub.Comment(w.repo.FullName(), w.issue, person, w.scenario.then[w.said])
	w.must(err)
	w.said++
	return true
}

// retries is how often what did not pass was asked for again.
func (w *world) retries() int {
	n := 0
	for _, text := range w.scenario.then {
		if text == "/yudai retry" {
			n++
		}
	}
	return n
}

// redeliver is the operator who sends what nobody took again, with the same GUID.
func (w *world) redeliver() {
	w.t.Helper()
	taken, failed := map[string]bool{}, map[string]int64{}
	for _, d := range w.hub.Deliveries(w.app) {
		taken[d.GUID] = taken[d.GUID] || !d.Done || d.Status < 300
		if d.Done && d.Status >= 300 {
			failed[d.GUID] = d.ID
		}
	}
	for guid, id := range failed {
		if taken[guid] {
			continue
		}
		tr, err := ghinstallation.NewAppsTransport(w.hub.Transport(), w.app.ID, w.app.PrivateKeyPEM)
		w.must(err)
		c := github.NewClient(&http.Client{Transport: tr})
		c.BaseURL = c.BaseURL.JoinPath("/")
		_, _, err = c.Apps.RedeliverHookDelivery(context.Background(), id)
		if err != nil && !strings.Contains(err.Error(), "job scheduled") {
			w.must(err)
		}
	}
}
