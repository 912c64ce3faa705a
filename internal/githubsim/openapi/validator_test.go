package openapi_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/yudai-dev/yudai/internal/githubsim/openapi"
)

var load = sync.OnceValues(func() (*openapi.Validator, error) { return openapi.New("/api/v3") })

// canned answers every request with one response.
type canned struct {
	status int
	body   string
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(c.body)), Request: req,
	}, nil
}

// TestTransportReports: what does not fit is reported, naming the place; what
// fits, and what is no API call, is not.
func TestTransportReports(t *testing.T) {
	t.Parallel()
	v, err := load()
	if err != nil {
		t.Fatal(err)
	}
	const checks, ref = "/api/v3/repos/o/r/check-runs", `{"ref":"refs/heads/a/b","node_id":"x","url":"http://h/x","object":{"type":"commit","sha":"` + "0123456789012345678901234567890123456789" + `","url":"http://h/x"}}`
	fails := canned{http.StatusUnprocessableEntity, `{"message":"no","documentation_url":"http://h/x"}`}
	for what, tc := range map[string]struct {
		method, path, body string
		answer             canned
		want               string
	}{
		"no commit":            {http.MethodPost, checks, `{"name":"x"}`, fails, "head_sha"},
		"long label":           {http.MethodPost, checks, `{"name":"x","head_sha":"y","actions":[{"label":"123456789012345678901","description":"d","identifier":"i"}]}`, fails, "/actions/0/label"},
		"fourth action":        {http.MethodPost, checks, `{"name":"x","head_sha":"y","actions":[` + strings.Repeat(`{"label":"l","description":"d","identifier":"i"},`, 3) + `{"label":"l","description":"d","identifier":"i"}]}`, fails, "/actions"},
		"bad status":           {http.MethodPatch, checks + "/1", `{"status":"done"}`, fails, "request: "},
		"no body":              {http.MethodPost, "/api/v3/repos/o/r/issues/1/comments", `{}`, fails, "body"},
		"unknown operation":    {http.MethodPut, "/api/v3/repos/o/r/issues/1", `{}`, fails, "no such operation"},
		"slashes in parameter": {http.MethodGet, "/api/v3/repos/o/r/git/ref/heads/a/b", "", canned{http.StatusOK, ref}, ""},
		"wrong answer":         {http.MethodGet, "/api/v3/repos/o/r/git/ref/heads/a", "", canned{http.StatusOK, `{"ref":5}`}, "response 200"},
		"error without text":   {http.MethodGet, "/api/v3/repos/o/r/git/ref/heads/a", "", canned{http.StatusBadGateway, `{}`}, "without a message"},
		"rate limit":           {http.MethodGet, "/api/v3/repos/o/r/git/ref/heads/a", "", canned{http.StatusTooManyRequests, `{"message":"slow down"}`}, ""},
		"null body":            {http.MethodPost, "/api/v3/app/installations/1/access_tokens", "null", fails, ""},
		"git":                  {http.MethodGet, "/o/r.git/info/refs", "", fails, ""},
	} {
		var got []string
		tr := v.Transport(tc.answer, func(err error) { got = append(got, err.Error()) })
		req, err := http.NewRequestWithContext(context.Background(), tc.method, "http://host"+tc.path, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		if tc.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != tc.answer.body {
			t.Errorf("%s: the answer became %q, %v", what, body, err)
		}
		all := strings.Join(got, "\n")
		if tc.want == "" && all != "" || !strings.Contains(all, tc.want) {
			t.Errorf("%s: reported %q, want %q", what, all, tc.want)
		}
		if len(all) > 600 {
			t.Errorf("%s: the report has %d characters", what, len(all))
		}
	}
}

func TestWebhookReports(t *testing.T) {
	t.Parallel()
	v, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ event, action, payload, want string }{
		{"issues", "labeled", `{"action":"labeled"}`, `"issue" is missing`},
		{"issues", "danced", `{"action":"danced"}`, "no webhook-issues-danced"},
		{"issues", "labeled", `{`, "parse payload"},
		{"check_run", "requested_action", `{"action":"created","check_run":{},"repository":{},"sender":{}}`, "/action"},
	} {
		err := v.Webhook(tc.event, tc.action, []byte(tc.payload))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s.%s: %v, want %q", tc.event, tc.action, err, tc.want)
		}
	}
}
