package e2b

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
)

const testKey = "e2b_secret_of_the_test"

// answer is one answer of a scripted server, or a lost connection.
type answer struct {
	status int
	header map[string]string
	body   string
	err    error
}

// script answers requests in order, the last answer again and again, and keeps them.
type script struct {
	answers []answer

	mu   sync.Mutex
	seen []*http.Request
	sent []string
}

// RoundTrip answers.
func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := ""
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(data)
	}
	a := s.answers[min(len(s.seen), len(s.answers)-1)]
	s.seen, s.sent = append(s.seen, r), append(s.sent, body)
	if a.err != nil {
		return nil, a.err
	}
	h := http.Header{}
	for k, v := range a.header {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

func scripted(answers ...answer) (*provider, *script) {
	s := &script{answers: answers}
	return &provider{control: controlOn(&http.Client{Transport: s}, "https://api.test")}, s
}

// controlOn is a client of a control plane, with the patience of the real one.
func controlOn(c *http.Client, base string) *cloud.Client {
	return &cloud.Client{
		Base: base, Key: testKey, Header: http.Header{"X-Api-Key": {testKey}}, HTTP: c, Retry: retryPolicy(), IsFull: isFull, IsUnchanged: isUnchanged,
	}
}

const made = `{"sandboxID":"i1","envdVersion":"0.6.13","envdAccessToken":"t"}`

// TestRetries: which answers are waited for, how long at most, and what is said
// in the end. The clock is synthetic.
func TestRetries(t *testing.T) {
	t.Parallel()
	lost := answer{err: io.ErrUnexpectedEOF}
	refused := answer{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	rated := func(s string) answer {
		return answer{status: 429, header: map[string]string{"Retry-After": s}, body: `{"code":429,"message":"rate limit"}`}
	}
	full := answer{status: 429, body: `{"code":429,"message":"you have reached the maximum number of concurrent sandboxes"}`}
	page := answer{status: 502, header: map[string]string{"Content-Type": "text/html"}, body: "<html>Bad gateway " + testKey + "</html>"}
	busy := answer{status: 503, body: `{"code":503,"error_code":"sandbox_capacity_unavailable","message":"node is busy"}`}
	for _, c := range []struct {
		name    string
		answers []answer
		makes   bool
		calls   int // exactly, 0 for any
		want    error
		least   time.Duration
		most    time.Duration
	}{
		{"rate limit is waited for", []answer{rated("7"), {status: 200, body: made}}, true, 2, nil, 7 * time.Second, 7 * time.Second},
		{"rate limit beyond the bound", []answer{rated("45"), rated("45"), {status: 200, body: made}}, true, 2, sandbox.ErrCapacity, 45 * time.Second, 60 * time.Second},
		{"rate limit far beyond it", []answer{rated("999999999999")}, true, 1, sandbox.ErrCapacity, 0, 0},
		{"no slot is waited for a while", []answer{full}, true, 0, sandbox.ErrCapacity, 10 * time.Second, 30 * time.Second},
		{"a slot that gets free", []answer{full, full, {status: 200, body: made}}, true, 3, nil, 0, 5 * time.Second},
		{"pages of a proxy", []answer{page}, false, 0, sandbox.ErrUnavailable, 5 * time.Second, 20 * time.Second},
		{"a page, then an answer", []answer{page, {status: 200, body: made}}, false, 2, nil, 0, 2 * time.Second},
		{"what makes something is not repeated", []answer{page}, true, 1, sandbox.ErrUnavailable, 0, 0},
		{"nor after a proxy's 503", []answer{{status: 503, body: "<html>upstream gone</html>"}}, true, 1, sandbox.ErrUnavailable, 0, 0},
		{"nor after a lost answer", []answer{lost}, true, 1, sandbox.ErrUnavailable, 0, 0},
		{"but where nothing was sent", []answer{refused, {status: 200, body: made}}, true, 2, nil, 0, 2 * time.Second},
		{"reading is repeated", []answer{lost, {status: 200, body: made}}, false, 2, nil, 0, 2 * time.Second},
		{"provider down", []answer{refused}, true, 0, sandbox.ErrUnavailable, 5 * time.Second, 20 * time.Second},
		{"busy node", []answer{busy, busy, {status: 200, body: made}}, true, 3, nil, 0, 5 * time.Second},
		{"bad key", []answer{{status: 401, body: `{"code":401,"message":"no ` + testKey + `"}`}}, true, 1, sandbox.ErrSetting, 0, 0},
		{"not allowed", []answer{{status: 403, body: `{"code":403,"message":"no"}`}}, true, 1, sandbox.ErrSetting, 0, 0},
		{"half an answer", []answer{{status: 200, body: `{"sandboxID":`}, {status: 200, body: made}}, false, 2, nil, 0, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				control, s := scripted(c.answers...)
				began := time.Now()
				var m machine
				_, err := control.control.Do(t.Context(), cloud.Call{Method: "POST", Path: "/x", Body: 1, Makes: c.makes, Answer: &m})
				took := time.Since(began)
				if err != nil {
					err = DefaultConfig().explain(err)
				}
				if !errors.Is(err, c.want) || (c.want == nil && m.ID != "i1") {
					t.Errorf("%+v, %v", m, err)
				}
				if c.calls > 0 && len(s.seen) != c.calls || took < c.least || took > c.most {
					t.Errorf("%d calls in %s", len(s.seen), took)
				}
				if err != nil && strings.Contains(err.Error(), testKey) {
					t.Errorf("the error shows the key: %v", err)
				}
			})
		})
	}
}

// TestKeyErrorsNameTheSetting: 401 says where the key comes from.
func TestKeyErrorsNameTheSetting(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403} {
		err := DefaultConfig().explain(&cloud.Refusal{Status: status})
		if !errors.Is(err, sandbox.ErrSetting) || !strings.Contains(err.Error(), "sandbox.e2b.api_key_env") || !strings.Contains(err.Error(), "E2B_API_KEY") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// TestCreateErrorsNameTheSetting: what is wrong with the section, and the fix.
func TestCreateErrorsNameTheSetting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		refusal cloud.Refusal
		is      error
		says    string
	}{
		{cloud.Refusal{Status: 404, Message: "template 'yudai' not found"}, sandbox.ErrSetting, "yudai sandbox build e2b"},
		{cloud.Refusal{Status: 404}, sandbox.ErrSetting, "sandbox.e2b.template"},
		{cloud.Refusal{Status: 403, Message: "Team does not have access to the template"}, sandbox.ErrSetting, "sandbox.e2b.template"},
		{cloud.Refusal{Status: 400, Message: "Timeout cannot be greater than 1 hours"}, sandbox.ErrSetting, "sandbox.e2b.lease"},
		{cloud.Refusal{Status: 400, Message: "bad"}, sandbox.ErrSetting, "sandbox.e2b"},
		{cloud.Refusal{Status: 429, Message: "maximum number of concurrent sandboxes"}, sandbox.ErrCapacity, "solver.caps"},
		{cloud.Refusal{Status: 503, Code: "sandbox_capacity_unavailable"}, sandbox.ErrCapacity, "capacity"},
		{cloud.Refusal{Status: 504, Code: "sandbox_placement_timeout"}, sandbox.ErrUnavailable, ""},
	} {
		err := DefaultConfig().explain(DefaultConfig().explainCreate(&c.refusal))
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %v and %q", c.refusal, err, c.is, c.says)
		}
	}
}

// TestCreateRequest pins what is sent: a timeout always, no pause at its end, no
// network, nobody from outside, and none of it differently by the old route.
func TestCreateRequest(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 404, 405} {
		control, s := scripted(answer{status: status, body: made}, answer{status: 201, body: made})
		no := false
		n := rules([]string{"a.example"})
		n.Public = &no
		_, err := control.create(t.Context(), creation{
			Template: "yudai", Timeout: 600, Metadata: map[string]string{"k": "v"}, Internet: &no, Network: n,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := `{"templateID":"yudai","timeout":600,"metadata":{"k":"v"},"allow_internet_access":false,` +
			`"network":{"allowOut":["a.example"],"denyOut":["0.0.0.0/0"],"allowPublicTraffic":false},"autoPause":false`
		last := s.seen[len(s.seen)-1]
		path := "/v2/sandboxes"
		if status != 200 {
			want += `,"secure":true`
			path = "/sandboxes"
		}
		if d := cmp.Diff(want+"}", s.sent[len(s.sent)-1]); d != "" || last.URL.Path != path {
			t.Errorf("%s: %s", last.URL.Path, d)
		}
		h := last.Header
		if h.Get("X-API-Key") != testKey || h.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", h)
		}
	}
}

// TestAgentName: the edge answers with pages where a name has a browser's in it.
func TestAgentName(t *testing.T) {
	t.Parallel()
	for _, browser := range []string{"mozilla", "chrome", "safari", "firefox", "edge", "opera", "msie"} {
		if strings.Contains(strings.ToLower(cloud.UserAgent), browser) {
			t.Errorf("%q has %q in it", cloud.UserAgent, browser)
		}
	}
	control, s := scripted(answer{status: 200})
	control.http, control.timing = control.control.HTTP, defaultTiming()
	if err := control.daemon(machine{ID: "i"}).health(t.Context()); err != nil || s.seen[0].Header.Get("User-Agent") != cloud.UserAgent {
		t.Errorf("%v, %v", s.seen, err)
	}
}

// TestFilter compares with what the official client sends.
func TestFilter(t *testing.T) {
	t.Parallel()
	query := url.Values{"metadata": {filter("run", "42 a&b")}}
	if got, want := query.Encode(), "metadata=run%3D42%252520a%252526b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	inner, err := url.QueryUnescape(filter("run", "42 a&b"))
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut(inner, "=")
	if got, err := url.QueryUnescape(value); got != "42 a&b" || err != nil {
		t.Errorf("the server reads %q, %v", got, err)
	}
}

// TestPages follows a list, and does not go round for ever.
func TestPages(t *testing.T) {
	t.Parallel()
	next := func(token, id string) answer {
		return answer{status: 200, header: map[string]string{"X-Next-Token": token}, body: fmt.Sprintf(`[{"sandboxID":%q}]`, id)}
	}
	control, s := scripted(next("b", "1"), next("c", "2"), next("", "3"))
	all, err := control.list(t.Context(), "a", "b")
	if err != nil || len(all) != 3 || all[2].ID != "3" {
		t.Errorf("%+v, %v", all, err)
	}
	if q := s.seen[2].URL.Query(); q.Get("nextToken") != "c" || q.Get("state") != "running,paused" || q.Get("metadata") != "a=b" {
		t.Errorf("query %v", q)
	}
	circle, _ := scripted(next("b", "1"))
	if _, err := circle.list(t.Context(), "a", "b"); err == nil {
		t.Error("a list that never ends is read for ever")
	}
}

// TestGoneIsDone: what is to be removed and is not there is removed.
func TestGoneIsDone(t *testing.T) {
	t.Parallel()
	control, _ := scripted(answer{status: 404, body: `{"code":404,"message":"gone"}`})
	if err := control.remove(t.Context(), "i1"); err != nil {
		t.Error(err)
	}
	snapshots, s := scripted(answer{status: 404})
	if err := snapshots.deleteSnapshot(t.Context(), "team/name:tag"); err != nil {
		t.Error(err)
	}
	if got := s.seen[0].URL.EscapedPath(); got != "/templates/team%2Fname%3Atag" {
		t.Errorf("path %s", got)
	}
	pausing, _ := scripted(answer{status: 409, body: `{}`}, answer{status: 200, body: `{"sandboxID":"i1","state":"paused"}`})
	if err := pausing.pause(t.Context(), "i1"); err != nil {
		t.Errorf("pause of what is paused: %v", err)
	}
}

// TestContextEnds: nobody waits for a provider longer than the caller.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		control, _ := scripted(answer{status: 503})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := control.remove(ctx, "i"); err == nil || time.Since(began) > time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
