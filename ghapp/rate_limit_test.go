package ghapp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/solve"
)

// answers is a transport that answers token requests itself and everything else
// with what the test says.
type answers struct {
	mu     sync.Mutex
	calls  int
	tokens int
	answer func(req *http.Request) *http.Response
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if strings.HasSuffix(req.URL.Path, "/access_tokens") {
		a.tokens++
		return respond(req, 201, `{"token":"ghs_`+strings.Repeat("a", 36)+`","expires_at":"2099-01-01T00:00:00Z"}`), nil
	}
	a.calls++
	return a.answer(req), nil
}

func (a *answers) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls
}

func respond(req *http.Request, status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Status: strconv.Itoa(status), Header: h, Request: req,
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

func testApp(t *testing.T, tr http.RoundTripper, now func() time.Time) *ghapp.App {
	t.Helper()
	app, err := ghapp.New(ghapp.DefaultConfig(), ghapp.Secrets{
		AppID: 5, WebhookSecret: ghapp.NewSecret("s"), PrivateKey: ghapp.NewSecret(testPEM()),
	}, ghapp.Options{Transport: tr, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

var testRepo = solve.Repo{Installation: 9, ID: 70, Owner: "o", Name: "r", DefaultBranch: "main"}

// limit is what callers who cannot import this package ask for.
type limit interface {
	error
	RetryAt() time.Time
	RetryAfter() time.Duration
}

const (
	primaryBody   = `{"message":"API rate limit exceeded for installation ID 9."}`
	secondaryBody = `{"message":"You have exceeded a secondary rate limit."}`
	addressBody   = `{"message":"slow down","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`
)

func TestEveryFormOfLimitBecomesOneError(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	reset := strconv.FormatInt(now.Add(10*time.Minute).Unix(), 10)
	for name, test := range map[string]struct {
		status int
		body   string
		header []string
		after  time.Duration
	}{
		"primary 403":             {403, primaryBody, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset}, 10*time.Minute + time.Second},
		"primary 429":             {429, primaryBody, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset}, 10*time.Minute + time.Second},
		"secondary 403 address":   {403, addressBody, nil, time.Minute},
		"secondary 403 words":     {403, secondaryBody, nil, time.Minute},
		"secondary 403 with time": {403, secondaryBody, []string{"Retry-After", "90"}, 90 * time.Second},
		"secondary 429":           {429, secondaryBody, nil, time.Minute},
		"429 without words":       {429, ``, nil, time.Minute},
		"time before reset":       {403, secondaryBody, []string{"Retry-After", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset}, 5 * time.Second},
		"time as a date":          {429, ``, []string{"Retry-After", now.Add(30 * time.Second).UTC().Format(http.TimeFormat)}, 30 * time.Second},
		"reset in the past":       {403, primaryBody, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1"}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gh := &answers{answer: func(req *http.Request) *http.Response {
				return respond(req, test.status, test.body, test.header...)
			}}
			app := testApp(t, gh, func() time.Time { return now })
			_, err := app.Branch(t.Context(), testRepo, "main")
			var l limit
			if !errors.As(err, &l) {
				t.Fatalf("error %v is no limit", err)
			}
			if l.RetryAfter() != test.after || !l.RetryAt().Equal(now.Add(test.after)) {
				t.Errorf("retry after %v at %v, want after %v", l.RetryAfter(), l.RetryAt(), test.after)
			}
			if !app.PausedUntil(9).Equal(now.Add(test.after)) {
				t.Errorf("installation paused until %v", app.PausedUntil(9))
			}
		})
	}
}

func TestForbiddenIsNoLimit(t *testing.T) {
	t.Parallel()
	gh := &answers{answer: func(req *http.Request) *http.Response {
		return respond(req, 403, `{"message":"Resource not accessible by integration"}`, "X-RateLimit-Remaining", "4000")
	}}
	_, err := testApp(t, gh, nil).Branch(t.Context(), testRepo, "main")
	var l limit
	if err == nil || errors.As(err, &l) || !strings.Contains(err.Error(), "Resource not accessible") {
		t.Errorf("error is %v", err)
	}
}

func TestLimitPausesOneInstallationOnly(t *testing.T) {
	t.Parallel()
	clock := newClock()
	gh := &answers{answer: func(req *http.Request) *http.Response {
		if strings.Contains(req.URL.Path, "/limited/") {
			return respond(req, 429, secondaryBody, "Retry-After", "60")
		}
		return respond(req, 200, `{"ref":"refs/heads/main","object":{"sha":"abc"}}`)
	}}
	app := testApp(t, gh, clock.now)
	limited, other := testRepo, testRepo
	limited.Name, other.Installation = "limited", 10
	if _, err := app.Branch(t.Context(), limited, "main"); err == nil {
		t.Fatal("no error")
	}
	calls := gh.count()
	if _, err := app.Branch(t.Context(), testRepo, "main"); err == nil {
		t.Error("a limited installation was asked again")
	}
	if gh.count() != calls {
		t.Error("a call was made while limited")
	}
	if _, err := app.Branch(t.Context(), other, "main"); err != nil {
		t.Errorf("another installation is limited too: %v", err)
	}
	clock.advance(61 * time.Second)
	if _, err := app.Branch(t.Context(), testRepo, "main"); err != nil {
		t.Errorf("still limited after the pause: %v", err)
	}
}

func TestUnnamedLimitDoubles(t *testing.T) {
	t.Parallel()
	clock := newClock()
	gh := &answers{answer: func(req *http.Request) *http.Response { return respond(req, 429, `{}`) }}
	app := testApp(t, gh, clock.now)
	want := time.Minute
	for range 9 {
		_, err := app.Branch(t.Context(), testRepo, "main")
		var l limit
		if !errors.As(err, &l) {
			t.Fatalf("error %v is no limit", err)
		}
		if l.RetryAfter() != want {
			t.Errorf("pause is %v, want %v", l.RetryAfter(), want)
		}
		want = min(2*want, time.Hour)
		clock.advance(l.RetryAfter())
	}
}

func TestNothingRemainingStopsTheNextCall(t *testing.T) {
	t.Parallel()
	reset := strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
	gh := &answers{answer: func(req *http.Request) *http.Response {
		return respond(req, 200, `{"ref":"refs/heads/main","object":{"sha":"abc"}}`,
			"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset)
	}}
	app := testApp(t, gh, nil)
	if _, err := app.Branch(t.Context(), testRepo, "main"); err != nil {
		t.Fatal(err)
	}
	_, err := app.Branch(t.Context(), testRepo, "main")
	var l limit
	if !errors.As(err, &l) || time.Until(l.RetryAt()) < 50*time.Minute {
		t.Errorf("error is %v", err)
	}
}

func TestTokensGoToNoOtherHost(t *testing.T) {
	t.Parallel()
	gh := &answers{answer: func(req *http.Request) *http.Response {
		if req.URL.Host != "api.github.com" {
			t.Errorf("a request went to %s", req.URL.Host)
		}
		return respond(req, 302, ``, "Location", "https://elsewhere.test/steal")
	}}
	if _, err := testApp(t, gh, nil).Branch(t.Context(), testRepo, "main"); err == nil {
		t.Error("no error")
	}
}

func TestDeadTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]int{"once": 1, "for good": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			gh := &answers{}
			gh.answer = func(req *http.Request) *http.Response {
				if n++; n <= until {
					return respond(req, 401, `{"message":"Bad credentials"}`)
				}
				return respond(req, 200, `{"ref":"refs/heads/main","object":{"sha":"abc"}}`)
			}
			_, err := testApp(t, gh, nil).Branch(context.Background(), testRepo, "main")
			if (err == nil) != (until == 1) || gh.tokens != 2 || gh.calls != 2 {
				t.Errorf("error %v, %d tokens, %d calls", err, gh.tokens, gh.calls)
			}
		})
	}
}

// clock is a hand-moved one.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Now().Truncate(time.Second)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
