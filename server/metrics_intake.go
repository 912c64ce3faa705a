package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/palantir/go-githubapp/githubapp"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/solve"
)

// What becomes of a delivery.
const (
	deliveryStored  = "stored"
	deliveryKnown   = "known"   // its GUID was stored before
	deliveryIgnored = "ignored" // nothing to do
	deliveryRefused = "refused" // no delivery of GitHub's, or not understood
	deliveryFailed  = "failed"  // not stored, to be sent again
	deliveryMissed  = "missed"  // never arrived, and found in GitHub's log
)

// otherEvents stands for all events that no handler names: a stranger can send any.
const otherEvents = "other"

// intake counts the deliveries that a webhook handler answers.
func (m *metrics) intake(hook http.Handler, events []githubapp.EventHandler) http.Handler {
	var names []string
	for _, h := range events {
		names = append(names, h.Handles()...)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event := r.Header.Get("X-GitHub-Event")
		if !slices.Contains(names, event) {
			event = otherEvents
		}
		n, seen := &note{}, &statusWriter{ResponseWriter: w, status: http.StatusOK}
		hook.ServeHTTP(seen, r.WithContext(context.WithValue(r.Context(), noteKey{}, n)))
		switch {
		case seen.status >= http.StatusInternalServerError:
			n.result = deliveryFailed
		case seen.status >= http.StatusBadRequest:
			n.result = deliveryRefused
		case n.result == "":
			n.result = deliveryIgnored
		}
		m.deliveries.WithLabelValues(event, n.result).Inc()
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives [http.ResponseController] the writer below.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// accepter tells stored deliveries from known ones.
func (m *metrics) accepter(next handlers.Accepter) handlers.Accepter { return countedAccepter{next, m} }

type countedAccepter struct {
	handlers.Accepter
	m *metrics
}

// Accept implements [handlers.Accepter]. What did not come by the webhook is missed deliveries.
func (a countedAccepter) Accept(ctx context.Context, d solve.Delivery, w solve.Intent) (bool, error) {
	accepted, err := a.Accepter.Accept(ctx, d, w)
	n := noteOf(ctx)
	switch {
	case err != nil:
	case n == nil && accepted:
		a.m.deliveries.WithLabelValues(d.Event, deliveryMissed).Inc()
	case n != nil && accepted:
		n.result = deliveryStored
	case n != nil:
		n.result = deliveryKnown
	}
	return accepted, err
}
