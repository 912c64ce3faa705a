package prime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/prime"
)

// handler is a service without a network.
type handler func(w http.ResponseWriter, r *http.Request)

// RoundTrip implements http.RoundTripper.
func (h handler) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h(w, r)
	res := w.Result()
	res.Request = r
	return res, r.Context().Err()
}

// alone makes a driver of such a service, with the patience of the real one.
func alone(t *testing.T, log io.Writer, h handler, change ...func(*prime.Config)) *prime.TestDriver {
	t.Helper()
	c := config("http://service.invalid")
	for _, f := range change {
		f(&c)
	}
	d, err := prime.NewTest(c, book(t, t.TempDir()), zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	d.Through(func(http.RoundTripper) http.RoundTripper { return h })
	return d
}

func answer(w http.ResponseWriter, status int, body string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// TestRefusalShapes: the service, its framework and the proxies before it each have
// their way to say no.
func TestRefusalShapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		kind   error
		says   string
	}{
		{422, `{"errors":[{"param":"memory_gb","details":"must be at most 8"}]}`, sandbox.ErrLimit, "sandbox.prime.limits.memory_gb"},
		{422, `{"detail":[{"loc":["body","docker_image"],"msg":"not a reference","type":"value_error"}]}`, sandbox.ErrSetting, "sandbox.prime.image"},
		{422, `{"detail":["region is unknown","and more"]}`, sandbox.ErrSetting, "sandbox.prime.region"},
		{422, `{"detail":"team does not exist"}`, sandbox.ErrSetting, "sandbox.prime.team_id"},
		{422, `{"errors":[{"param":"network_allowlist","details":"host has a scheme"}]}`, sandbox.ErrSetting, "host has a scheme"},
		{422, `{"detail":"something else"}`, sandbox.ErrSetting, "something else"},
		{400, `<html>bad` + "\x00\x1b[31m" + `</html>`, sandbox.ErrSetting, "<html>bad[31m</html>"},
		{422, ``, sandbox.ErrSetting, "HTTP 422"},
		{402, `{"detail":"Quota of concurrent sandboxes exceeded"}`, sandbox.ErrCapacity, "concurrent"},
		{403, `{"detail":{"reason":"limit reached"}}`, sandbox.ErrCapacity, "limit reached"},
		{302, ``, sandbox.ErrSetting, "sandbox.prime.api_url"},
		{405, `nope`, sandbox.ErrSetting, "sandbox.prime.api_url"},
		{418, `{}`, sandbox.ErrUnavailable, "HTTP 418"},
		{200, `<html>a page</html>`, sandbox.ErrUnavailable, "sandbox.prime.api_url"},
		{200, `{"status":"RUNNING"}`, sandbox.ErrUnavailable, "no id"},
	} {
		d := alone(t, io.Discard, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				answer(w, c.status, c.body)
				return
			}
			answer(w, 200, `{"sandboxes":[]}`)
		})
		d.Hurry()
		_, err := d.Open(t.Context(), sandbox.Spec{Name: "a"})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\x00\x1b") {
			t.Errorf("%d %s: %q", c.status, c.body, err)
		}
	}
}

// TestRequest pins what is asked for, and that it was noted before.
func TestRequest(t *testing.T) {
	t.Parallel()
	var body map[string]any
	var noted string
	c := config("http://service.invalid")
	c.TeamID, c.Region, c.MaxLife = "team1", "r1", 2*time.Hour
	b := book(t, t.TempDir())
	d, err := prime.NewTest(c, b, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	d.Through(func(http.RoundTripper) http.RoundTripper {
		return handler(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" || r.URL.Path != "/api/v1/sandbox" {
				t.Errorf("%s %s, %v", r.Method, r.URL.Path, r.Header)
			}
			body = map[string]any{}
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			if rec, err := b.Get(strings.Repeat("n", 80)); err == nil {
				noted = rec.Key
			}
			answer(w, 422, `{"detail":"no"}`)
		})
	})
	spec := sandbox.Spec{
		Name: strings.Repeat("n", 80), Labels: map[string]string{"solve": "s1", "run": "3"},
		Limits: sandbox.Limits{Memory: 3 << 30, CPUs: 1.5}, TTL: 90*time.Minute + time.Second,
	}
	if _, err := d.Open(t.Context(), spec); !errors.Is(err, sandbox.ErrSetting) {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"vm": true, "docker_image": c.Image, "cpu_cores": 1.5, "memory_gb": 3.0, "disk_size_gb": 10.0, "timeout_minutes": 91.0, "idle_timeout_minutes": 91.0,
		"team_id": "team1", "region": "r1",
	} {
		if body[key] != want {
			t.Errorf("%s is %v, want %v", key, body[key], want)
		}
	}
	if allow, ok := body["network_allowlist"].([]any); !ok || len(allow) != 0 {
		t.Errorf("network_allowlist is %v, want []", body["network_allowlist"])
	}
	for _, key := range []string{"environment_vars", "secrets", "network_denylist", "checkpoint_id", "start_command", "gpu_count"} {
		if _, there := body[key]; there {
			t.Errorf("%s is sent", key)
		}
	}
	if name, _ := body["name"].(string); len(name) < 81 || len(name) > 100 || !strings.Contains(name, b.Deployment()) {
		t.Errorf("name %q", name)
	}
	if got, want := fmt.Sprint(body["labels"]), "[yudai deployment:"+b.Deployment()+" name:"+spec.Name+" run:3 solve:s1]"; got != want {
		t.Errorf("labels %s, want %s", got, want)
	}
	first := body["idempotency_key"]
	if first != noted || noted == "" {
		t.Errorf("the key %v was not noted before the call (%q)", first, noted)
	}
	spec.TTL = 0
	_, _ = d.Open(t.Context(), spec)
	if body["idempotency_key"] == first || body["timeout_minutes"] != 120.0 {
		t.Errorf("another attempt: key %v, %v minutes", body["idempotency_key"], body["timeout_minutes"])
	}
	if left, err := b.All(); err != nil || len(left) > 0 {
		t.Errorf("notes of what was refused: %v, %v", left, err)
	}
}

// TestRefusedNow: that the account may make nothing now does not say that nothing was made then.
func TestRefusedNow(t *testing.T) {
	t.Parallel()
	for status, kept := range map[int]bool{401: true, 402: true, 403: true, 429: true, 422: false} {
		posts := 0
		d := alone(t, io.Discard, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				answer(w, 200, `{"sandboxes":[]}`)
				return
			}
			if posts++; posts <= 3 {
				answer(w, 502, "")
				return
			}
			answer(w, status, `{}`)
		})
		d.Hurry()
		if _, err := d.Open(t.Context(), sandbox.Spec{Name: "a"}); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("open: %v, want ErrUnavailable", err)
		}
		if _, err := d.Journal().Read("a"); kept != (err == nil) {
			t.Errorf("%d to the look for it: its note: %v", status, err)
		}
	}
}

// TestLimits: what the service does not offer is refused before it is asked.
func TestLimits(t *testing.T) {
	t.Parallel()
	d := alone(t, io.Discard, func(w http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.URL) })
	for key, l := range map[string]sandbox.Limits{
		"limits.memory_gb": {Memory: 1 << 20}, "limits.cpus": {CPUs: 17}, "limits.disk_gb": {Disk: 1001 << 30},
	} {
		_, err := d.Open(t.Context(), sandbox.Spec{Name: "a", Limits: l})
		if !errors.Is(err, sandbox.ErrLimit) || !strings.Contains(err.Error(), "sandbox.prime."+key) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	_, err := d.Open(t.Context(), sandbox.Spec{Name: "a", Network: sandbox.Network{Allow: slices.Repeat([]string{"a.example"}, 257)}})
	if !errors.Is(err, sandbox.ErrLimit) || !strings.Contains(err.Error(), "256") {
		t.Errorf("too many hosts: %v", err)
	}
}

// TestThrottled: "too many requests" is waited out for a minute and a half, longer where the
// service asks for it, and not at all where there are too many sandboxes.
func TestThrottled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, after string
		least, most time.Duration
	}{
		{`{"detail":"Rate limit exceeded"}`, "", 85 * time.Second, 110 * time.Second},
		{`{"detail":"Rate limit exceeded"}`, "50", 200 * time.Second, 250 * time.Second},
		{`{"detail":"Too many concurrent requests: limit reached"}`, "", 85 * time.Second, 110 * time.Second},
		{`{"detail":"Maximum number of concurrent sandboxes reached (8)"}`, "", 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := alone(t, io.Discard, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", c.after)
				answer(w, 429, c.body)
			})
			began := time.Now()
			_, err := d.Open(t.Context(), sandbox.Spec{Name: "a"})
			took := time.Since(began)
			if !errors.Is(err, sandbox.ErrCapacity) || took < c.least || took > c.most {
				t.Errorf("%s: %v after %s", c.body, err, took)
			}
		})
	}
}

// TestThrottledWayIn: what the control plane refuses on the way to a sandbox is waited for once.
func TestThrottledWayIn(t *testing.T) {
	t.Parallel()
	for status, most := range map[int]int{429: 5, 503: 3} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			d := alone(t, io.Discard, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/auth") {
					asked++
					answer(w, status, `{"detail":"Rate limit exceeded"}`)
					return
				}
				answer(w, 200, `{"status":"RUNNING"}`)
			})
			if _, err := d.Runner("id")(t.Context(), "/bin/true"); err == nil || asked != most {
				t.Errorf("%d: asked %d times, %v", status, asked, err)
			}
		})
	}
}

// TestQuotaOfSandboxes: nothing but a new sandbox can be one too many.
func TestQuotaOfSandboxes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := alone(t, io.Discard, func(w http.ResponseWriter, _ *http.Request) { answer(w, 429, `{"detail":"Quota exceeded"}`) })
		began := time.Now()
		if err := d.Restrict(t.Context(), "id", []string{}); err == nil || time.Since(began) < 85*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestTokens: asked for once however many need it, and again a minute before its end.
func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := 0
		d := alone(t, io.Discard, func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			asked++
			n := asked
			mu.Unlock()
			<-time.After(time.Second)
			answer(w, 200, fmt.Sprintf(`{"token":"t%d","gateway_url":"http://g.invalid/","user_ns":"u","job_id":"j","expires_at":%q}`,
				n, time.Now().Add(10*time.Minute).UTC().Format("2006-01-02T15:04:05")))
		})
		access := d.Access("id")
		get := func() string {
			token, err := access(t.Context())
			if err != nil {
				t.Error(err)
			}
			return token
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { get() })
		}
		all.Wait()
		for _, step := range []struct {
			wait time.Duration
			want string
		}{{8 * time.Minute, "t1"}, {70 * time.Second, "t2"}, {0, "t2"}} {
			<-time.After(step.wait)
			if got := get(); got != step.want {
				t.Errorf("after %s: %s, want %s", step.wait, got, step.want)
			}
		}
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// TestRefusedTokenIsReplacedOnce: who hears late that a token is refused uses the one that
// another has got since.
func TestRefusedTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked, renewed, late := 0, make(chan struct{}), make(chan struct{})
	first := true
	d := alone(t, io.Discard, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case strings.HasSuffix(r.URL.Path, "/auth"):
			asked++
			answer(w, 200, fmt.Sprintf(`{"token":"t%d","gateway_url":"http://g.invalid/","user_ns":"u","job_id":"j"}`, asked))
		case r.Header.Get("Authorization") != "Bearer t1":
			w.Header().Set("Content-Type", "application/connect+proto")
			_, _ = w.Write(unhex(t, "00000000060a040a02082a00000000170a151a13080610011a0d6578697420737461747573203302000000027b7d"))
		default:
			if first {
				first = false
				close(late)
				mu.Unlock()
				<-renewed
				mu.Lock()
			}
			answer(w, 401, `{"detail":"expired"}`)
		}
	})
	run := d.Runner("id")
	ended := make(chan error, 1)
	go func() {
		_, err := run(t.Context(), "/bin/true")
		ended <- err
	}()
	<-late
	if _, err := run(t.Context(), "/bin/true"); err != nil {
		t.Error(err)
	}
	close(renewed)
	if err := <-ended; err != nil || asked != 2 {
		t.Errorf("%v, %d tokens were asked for", err, asked)
	}
}

// TestListPages: both spellings of a page's end, and what filters let through.
func TestListPages(t *testing.T) {
	t.Parallel()
	b := book(t, t.TempDir())
	item := func(id, name, status string) string {
		return fmt.Sprintf(`{"id":%q,"status":%q,"labels":["yudai","deployment:%s","name:%s","run:7"],"createdAt":"2026-11-22T00:00:00"}`, id, status, b.Deployment(), name)
	}
	pages := map[string]string{
		"1": `{"sandboxes":[` + item("1", "a", "RUNNING") + `],"hasNext":true}`,
		"2": `{"sandboxes":[` + item("2", "b", "PENDING") + `,{"id":"x","labels":["yudai"]},` + item("y", "c", "TERMINATED") + `],"has_next":true}`,
		"3": `{"sandboxes":[` + item("3", "d", "NEW") + `],"per_page":1}`,
	}
	var removed []string
	d, err := prime.NewTest(config("http://service.invalid"), b, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	d.Through(func(http.RoundTripper) http.RoundTripper {
		return handler(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				removed = append(removed, r.URL.Path)
				answer(w, 200, `{"success":true}`)
				return
			}
			answer(w, 200, pages[r.URL.Query().Get("page")])
		})
	})
	gone, err := d.Sweep(t.Context(), func(i sandbox.Info) bool {
		if i.Labels["run"] != "7" || i.Created.IsZero() {
			t.Errorf("%+v", i)
		}
		return i.Name == "b"
	})
	if err != nil || !slices.Equal(gone, []string{"a", "d"}) || !slices.Equal(removed, []string{"/api/v1/sandbox/1", "/api/v1/sandbox/3"}) {
		t.Errorf("swept %q, removed %q, %v", gone, removed, err)
	}
}

// TestRulesNotInForce: neither word of the service alone says that rules are applied.
func TestRulesNotInForce(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"policy":{"allowlist":[],"denylist":null},"generation":3,"applied_generation":3,"applied":true}`:  true,
		`{"policy":{"allowlist":[],"denylist":null},"generation":3,"applied_generation":3,"applied":false}`: false,
		`{"policy":{"allowlist":[],"denylist":null},"generation":3,"applied_generation":2,"applied":true}`:  false,
		`{"policy":{"allowlist":null,"denylist":[]},"generation":3,"applied_generation":3,"applied":true}`:  false, // everything is allowed
		`{"policy":{"allowlist":["x.example.org"]},"generation":3,"applied_generation":3,"applied":true}`:   false,
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			d := alone(t, io.Discard, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, body) })
			err := d.Restrict(t.Context(), "id", []string{})
			if want && err != nil || !want && (!errors.Is(err, sandbox.ErrUnavailable) || time.Since(began) < 50*time.Second) {
				t.Errorf("%s: %v after %s", body, err, time.Since(began))
			}
		})
	}
}

// TestStreamEnds: only the command's end and the stream's together are an end.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	const start, end3, last = "00000000060a040a02082a", "00000000170a151a13080610011a0d65786974207374617475732033", "02000000027b7d"
	for frames, want := range map[string]error{
		start + end3 + last:                     nil,
		start + last:                            guest.ErrCut,
		last:                                    guest.ErrCut,
		start + end3:                            guest.ErrCut,
		"":                                      guest.ErrCut,
		start + end3 + "0200000001ff":           guest.ErrCut,
		start + "00000000060a041a020801" + last: guest.ErrCut, // -1: it was killed, and its supervisor knows how the command ended
		start + end3 + frameOf("unavailable"):   guest.ErrCut,
		start + frameOf("internal"):             guest.ErrCut,
		start + frameOf("deadline_exceeded"):    guest.ErrCut,
		frameOf("not_found"):                    sandbox.ErrGone,
		frameOf("resource_exhausted"):           sandbox.ErrCapacity,
		frameOf("unimplemented"):                sandbox.ErrUnavailable,
		frameOf("unauthenticated"):              guest.ErrCut,
	} {
		header := http.Header{}
		d := alone(t, io.Discard, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/auth"):
				answer(w, 200, `{"token":"t","gateway_url":"http://g.invalid/","user_ns":"u","job_id":"j"}`)
			case strings.HasSuffix(r.URL.Path, "/u/j/command_session.CommandSession/Start"):
				header = r.Header
				w.Header().Set("Content-Type", "application/connect+proto")
				_, _ = w.Write(unhex(t, frames))
			default:
				answer(w, 200, `{"status":"RUNNING"}`)
			}
		})
		d.Hurry()
		code, err := d.Runner("id")(t.Context(), "/bin/true")
		if !errors.Is(err, want) || err == nil && code != 3 {
			t.Errorf("%s: %d, %v, want %v", frames, code, err, want)
		}
		if header.Get("Connect-Timeout-Ms") != "86400000" || header.Get("Content-Type") != "application/connect+proto" || header.Get("Authorization") != "Bearer t" {
			t.Errorf("header %v", header)
		}
	}
}

// frameOf is the last frame of a stream that failed, in hex.
func frameOf(code string) string {
	text := fmt.Sprintf(`{"error":{"code":%q,"message":"m"}}`, code)
	return fmt.Sprintf("02%08x%x", len(text), text)
}
