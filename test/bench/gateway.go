package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

const (
	gatewayCalls   = 300
	gatewayStreams = 200
	upstreamDelay  = 5 * time.Millisecond
)

// gateway compares calls of one upstream with the same calls through the gateway, in one
// run: how much later a whole answer is there, and how much memory an open stream takes.
func (b *bench) gateway(ctx context.Context, dir string) (result, error) {
	w, err := newGatewayRig(ctx, dir)
	if err != nil {
		return result{}, err
	}
	defer w.close()
	var res result
	late := check{unit: " ms", bound: 2}
	room := check{unit: " MB", bound: 1}
	for range b.repeats(3) {
		direct, through, err := w.calls(ctx)
		if err != nil {
			return res, err
		}
		late.values = append(late.values, 1000*(through-direct))
		res.facts = append(res.facts, fmt.Sprintf("%d calls each, an answer after %s: direct %s ms, through the gateway %s ms",
			gatewayCalls, upstreamDelay, number(1000*direct), number(1000*through)))
		without, err := w.streams(ctx, w.upstream.URL, "")
		if err != nil {
			return res, err
		}
		with, err := w.streams(ctx, w.door.URL, w.door.Token)
		if err != nil {
			return res, err
		}
		room.values = append(room.values, (with-without)/gatewayStreams)
		res.facts = append(res.facts, fmt.Sprintf("%d open streams, clients and upstream included: direct %s MB, through the gateway %s MB",
			gatewayStreams, number(without), number(with)))
	}
	res.checks = []check{late, room}
	return res, nil
}

// gatewayRig is an upstream, a gateway before it, and one run's door.
type gatewayRig struct {
	upstream *httptest.Server
	gate     *gateway.Gateway
	door     agent.GatewaySession
	shut     func()
	store    *bolt.Store
	release  chan struct{} // closed: streams end
	mu       sync.Mutex
}

func newGatewayRig(ctx context.Context, dir string) (*gatewayRig, error) {
	w := &gatewayRig{release: make(chan struct{})}
	w.upstream = httptest.NewServer(http.HandlerFunc(w.answer))
	cfg := model.DefaultConfig()
	cfg.Models = []model.Entry{{Name: "bench", Provider: model.OpenAI, BaseURL: w.upstream.URL + "/v1", Price: agent.Price{Input: 1, Output: 1}}}
	set, err := model.NewSet(cfg, func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	bc := bolt.DefaultConfig()
	bc.Path = filepath.Join(dir, "gateway.db")
	if w.store, err = bolt.Open(bc); err != nil {
		return nil, err
	}
	gc := gateway.DefaultConfig()
	gc.Dir = filepath.Join(dir, "gateway")
	if w.gate, err = gateway.New(gc, set, "", zerolog.Nop()); err != nil {
		return nil, err
	}
	w.door, w.shut, err = w.gate.Open("y-bench-1-1", agent.AccessLoopback, solve.Experiment{Model: "bench"}, settles{ctx, w.store})
	return w, err
}

func (w *gatewayRig) close() {
	w.shut()
	w.upstream.Close()
	_ = w.gate.Close()
	_ = w.store.Close()
}

// settles is an account whose calls cost one transaction each.
type settles struct {
	ctx   context.Context //nolint:containedctx // of the whole row
	store *bolt.Store
}

func (settles) Begin(context.Context, solve.Money) error { return nil }
func (s settles) End(context.Context, agent.Call) error {
	return s.store.Heartbeat(s.ctx, "bench", time.Minute)
}

// answer is the upstream: a stream that stays open until it is released, or a whole answer.
func (w *gatewayRig) answer(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if !strings.Contains(string(body), `"stream":true`) {
		timer := time.NewTimer(upstreamDelay)
		<-timer.C
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"id":"1","object":"chat.completion","model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":"`+
			strings.Repeat("word ", 400)+`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":400,"total_tokens":409}}`)
		return
	}
	w.mu.Lock()
	release := w.release
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "text/event-stream")
	event := func(text string) {
		_, _ = io.WriteString(rw, "data: "+text+"\n\n")
		rw.(http.Flusher).Flush()
	}
	for range 50 {
		event(`{"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"` + strings.Repeat("word ", 20) + `"}}]}`)
	}
	select {
	case <-release:
	case <-r.Context().Done():
	}
	event(`{"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	event(`{"id":"1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":400,"total_tokens":409}}`)
	event(`[DONE]`)
}

// call makes a request; read takes its answer.
func call(ctx context.Context, url, token string, stream bool, read func(io.Reader) error) error {
	body := fmt.Sprintf(`{"model":"bench","stream":%t,"messages":[{"role":"user","content":"%s"}]}`, stream, strings.Repeat("text ", 2000))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	err = read(res.Body)
	if res.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP %d from %s", res.StatusCode, url)
	}
	return errors.Join(err, res.Body.Close())
}

// calls are the medians in seconds, one call after the other, direct and through in turns.
func (w *gatewayRig) calls(ctx context.Context) (direct, through float64, err error) {
	all := func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	var took [2][]float64
	for range gatewayCalls {
		for i, at := range [][2]string{{w.upstream.URL, ""}, {w.door.URL, w.door.Token}} {
			began := time.Now()
			if err := call(ctx, at[0], at[1], false, all); err != nil {
				return 0, 0, err
			}
			took[i] = append(took[i], time.Since(began).Seconds())
		}
	}
	_, direct, _ = spread(took[0])
	_, through, _ = spread(took[1])
	return direct, through, nil
}

// streams opens streams and returns what this process holds, in MB, while they are all open.
func (w *gatewayRig) streams(ctx context.Context, url, token string) (float64, error) {
	release := make(chan struct{})
	w.mu.Lock()
	w.release = release
	w.mu.Unlock()
	before := held()
	var open, done sync.WaitGroup
	errs := make(chan error, gatewayStreams)
	for range gatewayStreams {
		open.Add(1)
		done.Go(func() {
			seen := sync.OnceFunc(open.Done)
			defer seen()
			err := call(ctx, url, token, true, func(r io.Reader) error {
				lines := bufio.NewScanner(r)
				for n := 0; lines.Scan(); n++ {
					if n == 99 { // the fiftieth event and its empty line
						seen()
					}
				}
				return lines.Err()
			})
			if err != nil {
				errs <- err
			}
		})
	}
	open.Wait()
	took := held() - before
	close(release)
	done.Wait()
	http.DefaultClient.CloseIdleConnections()
	select {
	case err := <-errs:
		return 0, err
	default:
		return took, nil
	}
}

// held is what the process holds in MB: heap and stacks.
func held() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse+m.StackInuse) / (1 << 20)
}
