package server_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

const (
	secret = "a webhook secret"
	guid   = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
)

// memory is an Accepter that knows GUIDs, as the store does.
type memory struct {
	mu     sync.Mutex
	known  map[string]solve.Intent
	broken error
}

func (m *memory) Accept(_ context.Context, d solve.Delivery, w solve.Intent) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return false, m.broken
	}
	if _, ok := m.known[d.GUID]; ok {
		return false, nil
	}
	m.known[d.GUID] = w
	return true, nil
}

func (m *memory) guids() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for id := range m.known {
		out = append(out, id)
	}
	return out
}

// safeLog is a log that requests write and the test reads.
type safeLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// hook is an intake behind a real listener.
type hook struct {
	*memory
	url string
	log *safeLog
}

func newHook(t *testing.T, more ...githubapp.EventHandler) hook {
	t.Helper()
	h := hook{memory: &memory{known: map[string]solve.Intent{}}, log: &safeLog{}}
	in, err := server.NewIntake(secret, append(more, handlers.New(handlers.Options{Accepter: h.memory})...))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in.ServeHTTP(w, r.WithContext(zerolog.New(h.log).WithContext(r.Context())))
	}))
	t.Cleanup(srv.Close)
	h.url = srv.URL
	return h
}

// post sends a correctly signed delivery that change may spoil.
func (h hook) post(t *testing.T, event string, body []byte, change func(*http.Request)) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", guid)
	req.Header.Set("X-Hub-Signature-256", sign("sha256", sha256.New, secret, body))
	if change != nil {
		change(req)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func sign(name string, alg func() hash.Hash, key string, body []byte) string {
	mac := hmac.New(alg, []byte(key))
	mac.Write(body)
	return name + "=" + hex.EncodeToString(mac.Sum(nil))
}

// labeled is GitHub's example of a labelled issue, as an app with the trigger label would get it.
func labeled(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile("../handlers/testdata/issues.labeled.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	doc["installation"] = map[string]any{"id": 7}
	doc["label"].(map[string]any)["name"] = handlers.DefaultLabel
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestIntakeRefusesWhatIsNoDelivery(t *testing.T) {
	t.Parallel()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	body := labeled(t)
	for name, tt := range map[string]struct {
		change func(*http.Request)
		status int
		text   string
	}{
		"right":                    {nil, 200, ""},
		"upper-case GUID":          {header("X-GitHub-Delivery", strings.ToUpper(guid)), 200, ""},
		"no signature":             {func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") }, 400, "no SHA-256 signature"},
		"wrong secret":             {header("X-Hub-Signature-256", sign("sha256", sha256.New, "other", body)), 400, "signature does not match"},
		"empty secret":             {header("X-Hub-Signature-256", sign("sha256", sha256.New, "", body)), 400, "signature does not match"},
		"signature of other bytes": {header("X-Hub-Signature-256", sign("sha256", sha256.New, secret, body[1:])), 400, "signature does not match"},
		"cut signature":            {header("X-Hub-Signature-256", "sha256=00"), 400, "no SHA-256 signature"},
		"SHA-1 only": {func(r *http.Request) {
			r.Header.Del("X-Hub-Signature-256")
			r.Header.Set("X-Hub-Signature", sign("sha1", sha1.New, secret, body))
		}, 400, "no SHA-256 signature"},
		"SHA-1 in the new header":   {header("X-Hub-Signature-256", sign("sha1", sha1.New, secret, body)), 400, "no SHA-256 signature"},
		"SHA-512 in the new header": {header("X-Hub-Signature-256", sign("sha512", sha512.New, secret, body)), 400, "no SHA-256 signature"},
		"right SHA-1, wrong SHA-256": {func(r *http.Request) {
			r.Header.Set("X-Hub-Signature-256", sign("sha256", sha256.New, "other", body))
			r.Header.Set("X-Hub-Signature", sign("sha1", sha1.New, secret, body))
		}, 400, "signature does not match"},
		"no GUID":           {func(r *http.Request) { r.Header.Del("X-GitHub-Delivery") }, 400, "not a GUID"},
		"a number":          {header("X-GitHub-Delivery", "12345"), 200, ""},
		"more than a GUID":  {header("X-GitHub-Delivery", guid+"0"), 200, ""},
		"no event":          {func(r *http.Request) { r.Header.Del("X-GitHub-Event") }, 400, "not an event"},
		"strange event":     {header("X-GitHub-Event", "issues; rm"), 400, "not an event"},
		"form":              {header("Content-Type", "application/x-www-form-urlencoded"), 400, "content type"},
		"GET":               {func(r *http.Request) { r.Method = http.MethodGet }, 405, "POST"},
		"PUT":               {func(r *http.Request) { r.Method = http.MethodPut }, 405, "POST"},
		"other JSON header": {header("Content-Type", "application/json; charset=utf-8"), 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t)
			status, text := h.post(t, "issues", body, tt.change)
			if status != tt.status || !strings.Contains(text, tt.text) {
				t.Errorf("answer %d %q, want %d %q", status, text, tt.status, tt.text)
			}
			stored := len(h.guids()) > 0
			if stored != (tt.status == 200) {
				t.Errorf("stored: %v", h.guids())
			}
			if !stored && !strings.Contains(h.log.String(), "webhook refused") {
				t.Errorf("log: %s", h.log.String())
			}
			if strings.Contains(h.log.String(), secret) {
				t.Errorf("the secret is in the log")
			}
		})
	}
}

// zeros is a body of n bytes that takes no memory.
type zeros struct{ n int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.n <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.n)
	z.n -= n
	return int(n), nil
}

func TestIntakeBoundsTheSize(t *testing.T) {
	t.Parallel()
	const limit = 25<<20 + 64<<10
	for name, tt := range map[string]struct {
		size   int64
		length int64 // announced; -1 is none
		status int
	}{
		"announced":       {limit + 1, limit + 1, 413},
		"not announced":   {limit + 1, -1, 413},
		"as large as can": {limit, -1, 400}, // read whole, and its signature is wrong
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t)
			status, _ := h.post(t, "issues", nil, func(r *http.Request) {
				r.Body, r.ContentLength = io.NopCloser(&zeros{tt.size}), tt.length
			})
			if status != tt.status || len(h.guids()) != 0 {
				t.Errorf("answer %d, want %d; stored %v", status, tt.status, h.guids())
			}
		})
	}
}

func TestIntakeTakesADeliveryOnce(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	for range 3 {
		if status, text := h.post(t, "issues", labeled(t), nil); status != 200 {
			t.Fatalf("answer %d %s", status, text)
		}
	}
	if diff := cmp.Diff([]string{guid}, h.guids()); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(h.log.String(), "delivery is known"); n != 2 {
		t.Errorf("%d repetitions in the log:\n%s", n, h.log.String())
	}
}

func TestIntakeSaysThatAStorageFailureCanBeRepeated(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	h.broken = errors.New("disk full at /srv/secret-place")
	status, text := h.post(t, "issues", labeled(t), nil)
	if status != 503 || !strings.Contains(text, "redeliver") || strings.Contains(text, "disk") {
		t.Errorf("answer %d %q", status, text)
	}
	if !strings.Contains(h.log.String(), "disk full") {
		t.Errorf("log: %s", h.log.String())
	}
	h.mu.Lock()
	h.broken = nil
	h.mu.Unlock()
	if status, _ := h.post(t, "issues", labeled(t), nil); status != 200 || len(h.guids()) != 1 {
		t.Errorf("redelivery: %d, stored %v", status, h.guids())
	}
}

// panicky is a handler that breaks.
type panicky struct{}

func (panicky) Handles() []string { return []string{"star"} }

func (panicky) Handle(context.Context, string, string, []byte) error { panic("oh no") }

func TestIntakeSurvivesAPanic(t *testing.T) {
	t.Parallel()
	h := newHook(t, panicky{})
	status, text := h.post(t, "star", []byte("{}"), nil)
	if status != 500 || strings.Contains(text, "oh no") {
		t.Errorf("answer %d %q", status, text)
	}
	if log := h.log.String(); !strings.Contains(log, "oh no") || !strings.Contains(log, "intake_test.go") {
		t.Errorf("log without value or stack: %s", log)
	}
	if status, _ := h.post(t, "issues", labeled(t), nil); status != 200 {
		t.Errorf("next delivery: %d", status)
	}
}

func TestIntakeIgnoresOtherEvents(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	for event, want := range map[string]int{"push": 202, "some_new_event": 202, "ping": 200} {
		if status, _ := h.post(t, event, []byte(`{"zen":"x"}`), nil); status != want {
			t.Errorf("%s: %d, want %d", event, status, want)
		}
	}
	if status, _ := h.post(t, "push", []byte("{}"), func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") }); status != 400 {
		t.Errorf("unsigned: %d", status)
	}
	if len(h.guids()) != 0 {
		t.Errorf("stored %v", h.guids())
	}
}

func TestIntakeRefusesMalformedPayloads(t *testing.T) {
	t.Parallel()
	body := labeled(t)
	for name, raw := range map[string][]byte{"empty": {}, "cut": body[:len(body)/2], "list": []byte("[]")} {
		h := newHook(t)
		status, text := h.post(t, "issues", raw, nil)
		if status != 400 || !strings.Contains(text, "payload") {
			t.Errorf("%s: answer %d %q", name, status, text)
		}
		if len(h.guids()) != 0 || !strings.Contains(h.log.String(), "malformed payload") {
			t.Errorf("%s: stored %v, log %s", name, h.guids(), h.log.String())
		}
	}
}

// Payloads with a right signature and a wrong content: GitHub, or an operator who
// replays one by hand, is told; what only misses an installation is ignored in the log.
func TestIntakeOfStrangePayloads(t *testing.T) {
	t.Parallel()
	whole := string(labeled(t))
	swap := func(old, by string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("the example has no %s", old)
		}
		return strings.Replace(whole, old, by, 1)
	}
	for name, tt := range map[string]struct {
		body   string
		status int
		log    string
	}{
		"number as a string":    {swap(`"installation":{"id":7}`, `"installation":{"id":"7"}`), 400, "malformed payload"},
		"number too large":      {swap(`"installation":{"id":7}`, `"installation":{"id":99999999999999999999}`), 400, "malformed payload"},
		"fraction":              {swap(`"installation":{"id":7}`, `"installation":{"id":7.5}`), 400, "malformed payload"},
		"no installation":       {swap(`"installation":{"id":7}`, `"installation":null`), 200, "names no installation"},
		"installation is empty": {swap(`"installation":{"id":7}`, `"installation":{}`), 200, "names no installation"},
		"deep nesting":          {strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000), 400, "malformed payload"},
		"deep in a field":       {swap(`"installation":{"id":7}`, `"x":`+strings.Repeat(`{"a":`, 50_000)+"1"+strings.Repeat("}", 50_000)), 400, "malformed payload"},
		"null":                  {"null", 200, ""},
		"a word":                {`"labeled"`, 400, "malformed payload"},
		"two documents":         {whole + whole, 400, "malformed payload"},
		"not UTF-8":             {swap(`"installation":{"id":7}`, "\"\xff\xfe\":\"\xff\",\"installation\":{\"id\":7}"), 200, "solve asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t)
			status, _ := h.post(t, "issues", []byte(tt.body), nil)
			if status != tt.status || !strings.Contains(h.log.String(), tt.log) {
				t.Errorf("answer %d, want %d; log: %.300s", status, tt.status, h.log.String())
			}
			if stored := len(h.guids()) > 0; stored != (tt.log == "solve asked for") {
				t.Errorf("stored %v", h.guids())
			}
		})
	}
}

func TestIntakeNeedsASecret(t *testing.T) {
	t.Parallel()
	if _, err := server.NewIntake("", nil); err == nil || !strings.Contains(err.Error(), "GITHUB_APP_WEBHOOK_SECRET") {
		t.Errorf("err = %v", err)
	}
}
