package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// metrics are the numbers that /metrics shows. What happens is counted by wrappers
// around the parts that do it; what stands is read when somebody looks. No label
// holds a name that people choose, so that their number stays small: events, states,
// kinds, configured models, drivers, installations.
type metrics struct {
	registry *prometheus.Registry
	own      []prometheus.Collector // all but those of the Go runtime and the process

	deliveries   *prometheus.CounterVec
	solvesEnded  *prometheus.CounterVec
	runsEnded    *prometheus.CounterVec
	boxOpens     *prometheus.CounterVec
	boxCloses    *prometheus.CounterVec
	boxesOpen    *prometheus.GaugeVec
	boxLeaks     *prometheus.CounterVec
	writes       *prometheus.CounterVec
	requests     *prometheus.CounterVec
	modelCalls   *prometheus.CounterVec
	modelTokens  *prometheus.CounterVec
	modelDollars *prometheus.CounterVec
	gatewayCalls *prometheus.CounterVec
}

// newMetrics makes all of them in a registry of their own.
func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "yudai_" + name, Help: help}, labels)
		m.add(c)
		return c
	}
	m.deliveries = counter("deliveries_total", "Webhook deliveries by event and what became of them.", "event", "result")
	m.solvesEnded = counter("solves_ended_total", "Solves that ended, by their final state.", "state")
	m.runsEnded = counter("runs_ended_total", "Runs of solves that ended, by their final state.", "state")
	m.boxOpens = counter("sandbox_opens_total", "Sandboxes asked for, by driver and result.", "driver", "result")
	m.boxCloses = counter("sandbox_closes_total", "Sandboxes closed, by driver and result.", "driver", "result")
	m.writes = counter("github_writes_total", "Visible writes to GitHub by kind and outcome.", "kind", "outcome")
	m.requests = counter("github_requests_total", "Requests to GitHub's API by class of the answer's status.", "class")
	m.modelCalls = counter("model_calls_total", "Model calls of runs, by result.", "model", "result")
	m.modelTokens = counter("model_tokens_total", "Tokens of model calls by kind; cached ones are among the input.", "model", "kind")
	m.modelDollars = counter("model_cost_dollars_total", "Price of model calls in US dollars, where it is known.", "model")
	m.gatewayCalls = counter("gateway_calls_total", "Calls of agents through the gateway, by API and outcome; model_calls_total counts those that reached a model, too.", "api", "outcome")
	m.boxLeaks = counter("sandbox_leaks_total", "Leftover sandboxes and bases that were swept, by driver.", "driver")
	m.boxesOpen = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "yudai_sandboxes_open", Help: "Sandboxes that this process has open, by driver."}, []string{"driver"})
	m.add(m.boxesOpen)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// add registers metrics of ours.
func (m *metrics) add(list ...prometheus.Collector) {
	m.own = append(m.own, list...)
	m.registry.MustRegister(list...)
}

// handler serves the numbers. A part that cannot be read is left out, and the log says so.
func (m *metrics) handler(log zerolog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorLog: promLog{log}, ErrorHandling: promhttp.ContinueOnError})
}

// publicMetrics is the handler for the public listener; nil if they are off or have
// an address of their own.
func (s *Server) publicMetrics() http.Handler {
	if !s.cfg.Server.Metrics || s.cfg.Server.MetricsAddress != "" {
		return nil
	}
	return s.metrics.handler(s.log)
}

// serveMetrics serves the numbers and the health checks at their own address until ctx ends.
func (s *Server) serveMetrics(ctx context.Context) error {
	if s.scraped == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.handler(s.log))
	mux.HandleFunc("GET /healthz", healthz)
	mux.Handle("GET /readyz", s.ready)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	if err := web.Serve(s.scraped); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve server.metrics_address: %w", err)
	}
	return nil
}

// promLog takes what the library has to say.
type promLog struct{ log zerolog.Logger }

// Println implements promhttp.Logger.
func (p promLog) Println(v ...any) {
	for _, one := range v {
		if err, ok := one.(error); ok {
			p.log.Error().Err(err).Msg("metrics not read")
			return
		}
	}
}

// result is the label for an action that can fail.
func result(good string, err error) string {
	if err != nil {
		return "failed"
	}
	return good
}

// github counts requests; nil is the default transport.
func (m *metrics) github(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return countedTrip{next, m}
}

type countedTrip struct {
	next http.RoundTripper
	m    *metrics
}

// RoundTrip implements [http.RoundTripper].
func (t countedTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	class := "error"
	if err == nil {
		class = statusClass(resp.StatusCode)
	}
	if req.Context().Err() == nil || err == nil { // given up by ourselves is no answer
		t.m.requests.WithLabelValues(class).Inc()
	}
	return resp, err
}

func statusClass(code int) string {
	if code < 100 || code > 599 {
		return "error"
	}
	return string(rune('0'+code/100)) + "xx"
}

// note is what becomes of one delivery, kept in its request's context.
type note struct{ result string }

type noteKey struct{}

func noteOf(ctx context.Context) *note {
	n, _ := ctx.Value(noteKey{}).(*note)
	return n
}
