package model_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// secret is the key that must show up nowhere but in its header.
const secret = "sk-test-0123456789abcdef"

// answer is one canned response.
type answer struct {
	status int // 0 is 200
	header map[string]string
	body   string
	hang   bool   // until the client goes away
	flood  bool   // the body again and again, until the client goes away
	cut    bool   // breaks off in the middle
	seen   func() // called when the request is there
}

// upstream is a provider that plays answers, the last one for ever, and keeps the requests.
type upstream struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func serve(t *testing.T, answers ...answer) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.requests, u.bodies = append(u.requests, r), append(u.bodies, string(body))
		a := answers[min(len(u.requests), len(answers))-1]
		u.mu.Unlock()
		if a.seen != nil {
			a.seen()
		}
		if a.hang {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if a.cut {
			w.Header().Set("Content-Length", "100000")
		}
		for k, v := range a.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(max(a.status, 200))
		_, err := io.WriteString(w, a.body)
		for a.flood && err == nil {
			_, err = io.WriteString(w, a.body)
		}
	}))
	t.Cleanup(u.Close)
	return u
}

// body is the body of the first request, "" if there was none.
func (u *upstream) body() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.bodies) == 0 {
		return ""
	}
	return u.bodies[0]
}

func (u *upstream) calls() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.requests)
}

// sent is a request's body as JSON.
func (u *upstream) sent(t *testing.T, i int) map[string]any {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	var m map[string]any
	if err := json.Unmarshal([]byte(u.bodies[i]), &m); err != nil {
		t.Fatalf("body %q: %v", u.bodies[i], err)
	}
	return m
}

func config(entries ...model.Entry) model.Config {
	return model.Config{Attempts: 3, RetryWait: time.Millisecond, RetryMax: 2 * time.Millisecond, Models: entries}
}

// played is the entry of a scripted model.
func played(t *testing.T, name, script string) model.Entry {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".yml")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return model.Entry{Name: name, Provider: model.Scripted, Script: path}
}

// env is an environment with one key in it.
func env(name string) string {
	if name == "THE_KEY" {
		return secret + "\n"
	}
	return ""
}

// open is a model of the provider at the upstream, with a key.
func open(t *testing.T, provider string, u *upstream, change func(*model.Entry), x solve.Experiment) agent.Model {
	t.Helper()
	e := model.Entry{Name: "m", Provider: provider, Model: "the-model", BaseURL: u.URL + "/v1", APIKeyEnv: "THE_KEY", Timeout: 5 * time.Second}
	if change != nil {
		change(&e)
	}
	s, err := model.NewSet(config(e), env)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Open("m", x)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// history is a conversation with everything in it.
func history() []agent.Message {
	extra := map[string]any{"raw_output": "NEVER SENT"}
	return []agent.Message{
		{Role: "system", Content: "You are."},
		{Role: "user", Content: "Fix it."},
		{Role: "assistant", Content: "Looking.", ToolCalls: []agent.ToolCall{
			{ID: "c1", Name: "bash", Arguments: `{"command":"ls"}`},
			{ID: "c2", Name: "bash", Arguments: `{"command":"pwd"}`},
		}, Extra: extra},
		{Role: "tool", ToolCallID: "c1", Content: "out 1", Extra: extra},
		{Role: "tool", ToolCallID: "c2", Content: "out 2", Extra: extra},
		{Role: "user", Content: "Bad format.", Extra: extra},
		{Role: "assistant", ToolCalls: []agent.ToolCall{{ID: "c3", Name: "bash", Arguments: `{"command":"true"}`}}},
		{Role: "tool", ToolCallID: "c3", Content: "out 3"},
	}
}
