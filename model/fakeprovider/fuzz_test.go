package fakeprovider_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/model/fakeprovider"
)

// FuzzRequests: whatever a client sends, each of the three interfaces answers with
// JSON or with a stream, and a refusal says why in the provider's shape.
func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		"", "null", "[", `{"input":"x","tools":[{"type":"local_shell"}],"stream":true}`,
		`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"bash","parameters":{"properties":{"command":{"type":["string","null"]}},"required":["command","x"]}}}]}`,
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"t"}]}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{}}]}],"tools":[{"name":"Bash","input_schema":{"properties":{"cmd":{"type":"array"}}}}],"stream":true}`,
		`{"input":[{"type":"function_call","call_id":"call_1_1","name":"x","arguments":"{"},{"type":"custom_tool_call_output","output":[{"text":"t"}]},{"role":"user","content":null}],"tools":[{"type":"custom","name":"exec"}]}`,
		`{"messages":[{"role":"user","content":"mswea_bash_command"},{"role":"user","content":"again"}],"stream":true,"stream_options":{"include_usage":true}}`,
	} {
		for i := range uint8(4) {
			f.Add(body, i)
		}
	}
	h := fakeprovider.Handler(open(f, "plays: [{steps: [{say: Hello., run: ls}, {raw: {tool_calls: [{name: x, arguments: '{'}]}}]}]"))
	f.Fuzz(func(t *testing.T, body string, which uint8) {
		path := []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"}[which%4]
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
		switch {
		case w.Code == http.StatusOK && strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream"):
			for e := range strings.SplitSeq(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n") {
				if _, data, _ := strings.Cut("\n"+e, "\ndata: "); data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Errorf("event %q", e)
				}
			}
		case !json.Valid(w.Body.Bytes()):
			t.Errorf("%d %q", w.Code, w.Body)
		case w.Code != http.StatusOK && w.Code != http.StatusBadRequest, w.Code == http.StatusBadRequest && !strings.Contains(w.Body.String(), `"message":`):
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
