package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
)

// metrics are the numbers that /metrics shows. The parts of the server report what
// happens to the methods below; states are read when somebody looks. No label holds a
// name that people choose, so that their number stays small.
type metrics struct {
	registry *prometheus.Registry
	own      []prometheus.Collector // all but those of the Go runtime and the process

	deliveries, githubWrites, githubRequests            *prometheus.CounterVec
	solvesEnded, runsEnded                              *prometheus.CounterVec
	sandboxOpens, sandboxCloses, sandboxLeaks           *prometheus.CounterVec
	modelCalls, modelTokens, modelDollars, gatewayCalls *prometheus.CounterVec
	sandboxesOpen                                       *prometheus.GaugeVec

	health *health
}

// newMetrics makes all of them in a registry of their own.
func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), health: newHealth(time.Now)}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "yudai_" + name, Help: help}, labels)
		m.add(c)
		return c
	}
	m.deliveries = counter("deliveries_total", "Webhook deliveries by event and what became of them.", "event", "result")
	m.solvesEnded = counter("solves_ended_total", "Solves that ended, by their final state.", "state")
	m.runsEnded = counter("runs_ended_total", "Runs of solves that ended, by their final state.", "state")
	m.sandboxOpens = counter("sandbox_opens_total", "Sandboxes asked for, by driver and result.", "driver", "result")
	m.sandboxCloses = counter("sandbox_closes_total", "Sandboxes closed, by driver and result.", "driver", "result")
	m.sandboxLeaks = counter("sandbox_leaks_total", "Leftover sandboxes and bases that were swept, by driver.", "driver")
	m.githubWrites = counter("github_writes_total", "Visible writes to GitHub by kind and outcome.", "kind", "outcome")
	m.githubRequests = counter("github_requests_total", "Requests to GitHub's API by class of the answer's status.", "class")
	m.modelCalls = counter("model_calls_total", "Model calls of runs, by result.", "model", "result")
	m.modelTokens = counter("model_tokens_total", "Tokens of model calls by kind; cached ones are among the input.", "model", "kind")
	m.modelDollars = counter("model_cost_dollars_total", "Price of model calls in US dollars, where it is known.", "model")
	m.gatewayCalls = counter("gateway_calls_total",
		"Calls of agents through the gateway, by API and outcome; model_calls_total counts those that reached a model, too.", "api", "outcome")
	m.sandboxesOpen = prometheus.NewGaugeVec(
		prometheus.GaugeOpts{Name: "yudai_sandboxes_open", Help: "Sandboxes that this process has open, by driver."}, []string{"driver"})
	m.add(m.sandboxesOpen)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// add registers a metric of ours.
func (m *metrics) add(c prometheus.Collector) {
	m.own = append(m.own, c)
	m.registry.MustRegister(c)
}

// handler serves the numbers. A part that cannot be read is left out, and the log says so.
func (m *metrics) handler(log zerolog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorLog: metricsLog{log}, ErrorHandling: promhttp.ContinueOnError})
}

// metricsLog logs why metrics could not be read.
type metricsLog struct{ log zerolog.Logger }

// Println implements promhttp.Logger.
func (l metricsLog) Println(v ...any) {
	l.log.Error().Str(logkey.Error, strings.TrimSpace(fmt.Sprintln(v...))).Msg("metrics not read")
}

// publicMetrics is the handler for the listener of everything; nil if they are off or have an
// address of their own. Where others than this machine can reach it they need the API's token.
func (l Listen) publicMetrics(numbers http.Handler, token ghapp.Secret) http.Handler {
	if !l.Metrics || l.MetricsAddress != "" {
		return nil
	}
	if onlyHere(l.Address, l.PublicURL) {
		return numbers
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if api.Bears(r.Header.Get("Authorization"), token) {
			numbers.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="yudai"`)
		http.Error(w, "send the API token as \"Authorization: Bearer TOKEN\", or set server.metrics_address", http.StatusUnauthorized)
	})
}

// serveMetrics serves the numbers and the health checks at their own address until ctx ends.
func (s *Server) serveMetrics(ctx context.Context) error {
	if s.metricsListener == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.handler(s.log))
	mux.HandleFunc("GET /healthz", healthz)
	mux.Handle("GET /readyz", s.ready)
	web := newWebServer(mux)
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	if err := web.Serve(s.metricsListener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve server.metrics_address: %w", err)
	}
	return nil
}

// result is the label for an action that can fail.
func result(good string, err error) string {
	if err != nil {
		return "failed"
	}
	return good
}

// What becomes of a delivery.
const (
	deliveryStored  = "stored"
	deliveryKnown   = "known"   // its GUID was stored before
	deliveryIgnored = "ignored" // nothing to do
	deliveryRefused = "refused" // no delivery of GitHub's, or not understood
	deliveryFailed  = "failed"  // not stored, to be sent again
	deliveryMissed  = "missed"  // never arrived, and found in GitHub's log
)

// deliveryKey is the key of a request's context under which its result is kept, a *string.
type deliveryKey struct{}

// intake counts the deliveries that a webhook handler answers. Events that no handler names
// are counted as "other": a stranger can send any.
func (m *metrics) intake(hook http.Handler, events []githubapp.EventHandler) http.Handler {
	var names []string
	for _, h := range events {
		names = append(names, h.Handles()...)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event := r.Header.Get("X-GitHub-Event")
		if !slices.Contains(names, event) {
			event = "other"
		}
		outcome, seen := deliveryIgnored, &statusWriter{ResponseWriter: w, status: http.StatusOK}
		hook.ServeHTTP(seen, r.WithContext(context.WithValue(r.Context(), deliveryKey{}, &outcome)))
		switch {
		case seen.status >= http.StatusInternalServerError:
			outcome = deliveryFailed
		case seen.status >= http.StatusBadRequest:
			outcome = deliveryRefused
		}
		m.deliveries.WithLabelValues(event, outcome).Inc()
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

// countingAccepter tells stored deliveries from known ones.
type countingAccepter struct {
	next handlers.Accepter
	m    *metrics
}

// Accept implements [handlers.Accepter]. What did not come by the webhook is missed deliveries.
func (a countingAccepter) Accept(ctx context.Context, d solve.Delivery, w solve.Intent) (bool, error) {
	accepted, err := a.next.Accept(ctx, d, w)
	outcome, byWebhook := ctx.Value(deliveryKey{}).(*string)
	switch {
	case err != nil:
	case byWebhook && accepted:
		*outcome = deliveryStored
	case byWebhook:
		*outcome = deliveryKnown
	case accepted:
		a.m.deliveries.WithLabelValues(d.Event, deliveryMissed).Inc()
	}
	return accepted, err
}

// transport counts requests to GitHub by the status of their answers; nil is the default transport.
func (m *metrics) transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return countingTransport{next, m}
}

type countingTransport struct {
	next http.RoundTripper
	m    *metrics
}

// RoundTrip implements [http.RoundTripper].
func (t countingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	class := "error"
	if err == nil && resp.StatusCode >= 100 && resp.StatusCode <= 599 {
		class = fmt.Sprintf("%dxx", resp.StatusCode/100)
	}
	if req.Context().Err() == nil || err == nil { // given up by ourselves is no answer
		t.m.githubRequests.WithLabelValues(class).Inc()
	}
	return resp, err
}

// ended counts a solve and its own runs.
func (m *metrics) ended(s solve.Solve, runs []solve.Run) {
	m.solvesEnded.WithLabelValues(string(s.State)).Inc()
	for _, r := range runs {
		if r.From == nil {
			m.runsEnded.WithLabelValues(string(r.State)).Inc()
		}
	}
}

// written counts a try of a write to GitHub.
func (m *metrics) written(kind solve.EffectKind, outcome string) {
	m.githubWrites.WithLabelValues(string(kind), outcome).Inc()
}

// queried counts a model call of the agent mini. Of scripts and roulettes nothing else tells that they answer.
func (m *metrics) queried(name string, used solve.Usage, err error) {
	if failed, ok := errors.AsType[*model.Error](err); ok || err == nil {
		m.health.model(name, failed)
	}
	m.modelCalls.WithLabelValues(name, result("answered", err)).Inc()
	m.used(name, used) // tries that were given up are paid for
}

// relayed counts a call of an agent through the gateway.
func (m *metrics) relayed(c gateway.Count) {
	m.gatewayCalls.WithLabelValues(c.API, c.Outcome).Inc()
	switch c.Outcome {
	case gateway.OK:
		m.modelCalls.WithLabelValues(c.Model, "answered").Inc()
	case gateway.Failed, gateway.Cut, gateway.Gone:
		m.modelCalls.WithLabelValues(c.Model, "failed").Inc()
	default:
		return // no model was asked
	}
	m.used(c.Model, c.Usage)
}

// used counts what a model call cost.
func (m *metrics) used(name string, u solve.Usage) {
	m.modelTokens.WithLabelValues(name, "input").Add(float64(max(0, u.Input)))
	m.modelTokens.WithLabelValues(name, "cached").Add(float64(max(0, u.CachedRead)))
	m.modelTokens.WithLabelValues(name, "output").Add(float64(max(0, u.Output)))
	m.modelDollars.WithLabelValues(name).Add(float64(max(0, u.Cost)) / 1e6)
}
