package fakeprovider_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model/fakeprovider"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/solve"
)

// open opens the model of a script.
func open(t testing.TB, yaml string) func() (agent.Model, error) {
	t.Helper()
	s, err := scripted.Load([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return func() (agent.Model, error) { return s.Model("m", solve.Experiment{}, agent.Price{}), nil }
}

func serve(t testing.TB, yaml string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(fakeprovider.Handler(open(t, yaml)))
	t.Cleanup(s.Close)
	return s
}

// post sends a body to the handler and returns what came back.
func post(t testing.TB, yaml, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	fakeprovider.Handler(open(t, yaml)).ServeHTTP(w, r)
	return w
}

// object reads a JSON body.
func object(t testing.TB, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
		t.Fatalf("%d %q: %v", w.Code, w.Body, err)
	}
	return m
}

const hello = "plays: [{steps: [{say: Hello., run: ls}]}]"

func TestRequestsThatAreNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, body, want string }{
		"broken JSON":       {"/v1/chat/completions", `{`, "parse request"},
		"no UTF-8":          {"/v1/responses", "{\"input\":\"\xff\"}", "UTF-8"},
		"empty chat":        {"/v1/chat/completions", `{"messages":[]}`, "empty"},
		"empty messages":    {"/v1/messages", `{"system":"s","messages":[]}`, "empty"},
		"empty input":       {"/v1/responses", `{}`, "empty"},
		"unknown role":      {"/v1/chat/completions", `{"messages":[{"role":"king"}]}`, `unknown role \"king\"`},
		"tool in messages":  {"/v1/messages", `{"messages":[{"role":"tool","content":"x"}]}`, "unknown role"},
		"content, a number": {"/v1/messages", `{"messages":[{"role":"user","content":7}]}`, "messages[0]: parse content"},
		"state":             {"/v1/responses", `{"previous_response_id":"resp_1","input":"hi"}`, "previous_response_id"},
		"count of nothing":  {"/v1/messages/count_tokens", `{"messages":[]}`, "empty"},
	} {
		w := post(t, hello, c.path, c.body)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), c.want) || !strings.Contains(w.Body.String(), "invalid_request_error") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if w := post(t, hello, "/v1/embeddings", `{}`); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "POST /v1/embeddings") {
		t.Errorf("unknown path: %d %s", w.Code, w.Body)
	}
}

func TestTooLongARequestIsRefused(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/responses", io.LimitReader(spaces{}, 65<<20))
	fakeprovider.Handler(open(t, hello)).ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "too large") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// spaces is text without end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// A request without a shell gets an answer, and the play stays where it is.
func TestSideCallsAreNoStep(t *testing.T) {
	t.Parallel()
	const failing = "plays: [{steps: [{error: {status: RateLimitError}}]}]"
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"messages":[{"role":"system","content":"You make titles."},{"role":"user","content":"A long task"}]}`,
		"/v1/responses":        `{"input":"a title, please","tools":[{"type":"web_search"}]}`,
		"/v1/messages":         `{"messages":[{"role":"user","content":"quota"}],"tools":[{"name":"Read","input_schema":{"type":"object"}}]}`,
	} {
		if w := post(t, failing, path, body); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Work on the task") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"": `"object":"list"`, "2023-06-01": `"has_more":false`} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/models", nil)
		r.Header.Set("Anthropic-Version", version)
		fakeprovider.Handler(open(t, hello)).ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Body.String(), `"id":"m"`) {
			t.Errorf("%q: %d %s", version, w.Code, w.Body)
		}
	}
}

func TestModelThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	h := fakeprovider.Handler(func() (agent.Model, error) { return nil, io.ErrUnexpectedEOF })
	for _, r := range []*http.Request{
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/models", nil),
		httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/messages", strings.NewReader(`{"messages":[{"role":"user","content":"x"}]}`)),
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "EOF") || object(t, w)["error"] == nil {
			t.Errorf("%s: %d %s", r.URL.Path, w.Code, w.Body)
		}
	}
}
