package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/solve"
)

// bench is an upstream, a gateway in front of it, and both addresses of its chat API.
func bench(b *testing.B, h http.HandlerFunc) (direct, through, token string) {
	up := httptest.NewServer(h)
	b.Cleanup(up.Close)
	models, err := model.NewSet(model.Config{Attempts: 1, RetryWait: 1, RetryMax: 1, Models: []model.Entry{
		{Name: "m", Provider: model.OpenAI, BaseURL: up.URL + "/v1", Price: agent.Price{Input: 1, Output: 2}},
	}}, func(string) string { return "" })
	if err != nil {
		b.Fatal(err)
	}
	cfg := gateway.DefaultConfig()
	cfg.Dir = b.TempDir()
	g, err := gateway.New(cfg, models, "", zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.Close() })
	session, _, err := g.Open(run, agent.AccessLoopback, solve.Experiment{Model: "m"}, &books{})
	if err != nil {
		b.Fatal(err)
	}
	return up.URL + path(agent.APIChat), session.URL + path(agent.APIChat), session.Token
}

func post(b *testing.B, client *http.Client, url, token, body string) *http.Response {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := client.Do(req)
	if err != nil || res.StatusCode != 200 {
		b.Fatal(res, err)
	}
	return res
}

// BenchmarkCall compares a call with the same one without the gateway, for a conversation of 200 KB.
func BenchmarkCall(b *testing.B) {
	direct, through, token := bench(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, chatBody)
	})
	body := `{"model":"m","messages":[` + strings.Repeat(`{"role":"user","content":"`+strings.Repeat(`some \"text\" of a line\n`, 40)+`"},`, 200) + `{"role":"user","content":"end"}]}`
	for name, url := range map[string]string{"direct": direct, "gateway": through} {
		b.Run(name, func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{}}
			for b.Loop() {
				res := post(b, client, url, token, body)
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
}

// BenchmarkStreams holds 200 streams open and tells what each costs in memory, client and
// upstream included.
func BenchmarkStreams(b *testing.B) {
	const streams = 200
	release := make(chan struct{})
	direct, through, token := bench(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, chatDelta)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("text ", 40_000) + `"}]}`
	for name, url := range map[string]string{"direct": direct, "gateway": through} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before := inUse()
				open := make([]*http.Response, streams)
				client := &http.Client{Transport: &http.Transport{}}
				var all sync.WaitGroup
				for i := range open {
					all.Go(func() {
						open[i] = post(b, client, url, token, body)
						_, _ = io.ReadFull(open[i].Body, make([]byte, len(chatDelta)))
					})
				}
				all.Wait()
				b.ReportMetric(float64(inUse()-before)/streams, "B/stream")
				for _, res := range open {
					res.Body.Close()
				}
			}
		})
	}
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
