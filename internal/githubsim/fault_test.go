package githubsim_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

const commentsPath = `/issues/1/comments$`

// TestFaultsAtTheClient: each fault, as go-github sees it, and whether the
// comment was written.
func TestFaultsAtTheClient(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fault   githubsim.Fault
		effects int
		is      func(error) bool
	}{
		{githubsim.Fault{Kind: githubsim.FaultPrimary, Retry: time.Minute}, 0, is[*github.RateLimitError](0)},
		{githubsim.Fault{Kind: githubsim.FaultPrimary429}, 0, is[*github.ErrorResponse](http.StatusTooManyRequests)},
		{githubsim.Fault{Kind: githubsim.FaultSecondary, Retry: 30 * time.Second}, 0, is[*github.AbuseRateLimitError](0)},
		{githubsim.Fault{Kind: githubsim.FaultSecondaryPlain}, 0, is[*github.ErrorResponse](http.StatusForbidden)},
		{githubsim.Fault{Kind: githubsim.FaultSecondary429, Retry: time.Second}, 0, is[*github.ErrorResponse](http.StatusTooManyRequests)},
		{githubsim.Fault{Kind: githubsim.FaultAbuse, Retry: time.Second}, 0, is[*github.AbuseRateLimitError](0)},
		{githubsim.Fault{Kind: githubsim.FaultServerError, Status: 503}, 0, is[*github.ErrorResponse](http.StatusServiceUnavailable)},
		{githubsim.Fault{Kind: githubsim.FaultLostAnswer}, 1, is[*github.ErrorResponse](http.StatusBadGateway)},
		{githubsim.Fault{Kind: githubsim.FaultCutBefore}, 0, isNot[*github.ErrorResponse]()},
		{githubsim.Fault{Kind: githubsim.FaultCutAfter}, 1, isNot[*github.ErrorResponse]()},
		{githubsim.Fault{Kind: githubsim.FaultHangBefore}, 0, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		{githubsim.Fault{Kind: githubsim.FaultHangAfter}, 1, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		{githubsim.Fault{Kind: githubsim.FaultNotFound}, 0, is[*github.ErrorResponse](http.StatusNotFound)},
		{githubsim.Fault{Kind: githubsim.FaultUnauthorized}, 0, is[*github.ErrorResponse](http.StatusUnauthorized)},
		{githubsim.Fault{Kind: githubsim.FaultForbidden}, 0, is[*github.ErrorResponse](http.StatusForbidden)},
	} {
		t.Run(string(tc.fault.Kind), func(t *testing.T) {
			t.Parallel()
			w := setup(t, githubsim.Options{})
			_, _, err := w.client.Repositories.Get(t.Context(), owner, name) // have a token
			check(t, err)
			tc.fault.Method, tc.fault.Path = http.MethodPost, commentsPath
			in := w.hub.Inject(tc.fault)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, _, err = w.client.Issues.CreateComment(ctx, owner, name, w.issue, &github.IssueComment{Body: github.String("x")})
			if err == nil || !tc.is(err) {
				t.Errorf("client got %T %v", err, err)
			}
			w.idle()
			issue, err := w.hub.Issue(full, w.issue)
			check(t, err)
			if len(issue.Comments) != tc.effects || in.Hits() != 1 {
				t.Errorf("%d comments, want %d; %d hits", len(issue.Comments), tc.effects, in.Hits())
			}
			if got := w.hub.Requests(http.MethodPost, "/issues/1/comments"); got != tc.effects {
				t.Errorf("history has %d, want %d", got, tc.effects)
			}
		})
	}
}

// is accepts an error of type E, with status if it is an answer.
func is[E error](status int) func(error) bool {
	return func(err error) bool {
		var want E
		if !errors.As(err, &want) {
			return false
		}
		resp, isAnswer := any(want).(*github.ErrorResponse)
		return !isAnswer || resp.Response.StatusCode == status
	}
}

func isNot[E error]() func(error) bool {
	return func(err error) bool {
		var no E
		return !errors.As(err, &no)
	}
}

func TestRetryAfterAndReset(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultSecondary, Method: http.MethodPost, Path: commentsPath, Retry: 90 * time.Second})
	_, err := w.comment("x")
	var abuse *github.AbuseRateLimitError
	if !errors.As(err, &abuse) || abuse.GetRetryAfter() != 90*time.Second {
		t.Errorf("secondary limit %v", err)
	}
	w.client = w.install(nil) // go-github remembers limits per client
	w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultPrimary, Method: http.MethodPost, Path: commentsPath, Retry: 10 * time.Minute})
	_, err = w.comment("x")
	var limit *github.RateLimitError
	if !errors.As(err, &limit) || limit.Rate.Remaining != 0 || time.Until(limit.Rate.Reset.Time) < 9*time.Minute {
		t.Errorf("primary limit %v", err)
	}
}

func TestFaultCounts(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	in := w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultServerError, Method: http.MethodPost, Path: commentsPath, Nth: 2, Count: 2})
	var got []bool
	for range 5 {
		_, err := w.comment("x")
		got = append(got, err == nil)
	}
	for i, want := range []bool{true, false, false, true, true} {
		if got[i] != want {
			t.Errorf("request %d: ok is %v", i+1, got[i])
		}
	}
	in.Remove()
	always := w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultServerError, Count: -1})
	for range 3 {
		if _, err := w.comment("x"); err == nil {
			t.Error("a permanent fault ended")
		}
	}
	always.Remove()
	_, err := w.comment("x")
	check(t, err)
}

func TestLaggingLists(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	ctx := t.Context()
	commit := w.change(ctx, t, "ai/fix-1")
	w.hub.SetLag(30 * time.Second)
	mine, err := w.comment("x")
	check(t, err)
	_, _, err = w.client.Checks.CreateCheckRun(ctx, owner, name, github.CreateCheckRunOptions{Name: "yudai", HeadSHA: commit.GetSHA()})
	check(t, err)
	_, _, err = w.client.PullRequests.Create(ctx, owner, name, &github.NewPullRequest{Title: github.String("t"), Head: github.String("ai/fix-1"), Base: github.String("main")})
	check(t, err)
	_, _, err = w.client.Issues.GetComment(ctx, owner, name, mine.GetID())
	check(t, err)
	count := func() int {
		comments, _, err := w.client.Issues.ListComments(ctx, owner, name, w.issue, nil)
		check(t, err)
		runs, _, err := w.client.Checks.ListCheckRunsForRef(ctx, owner, name, commit.GetSHA(), nil)
		check(t, err)
		pulls, _, err := w.client.PullRequests.List(ctx, owner, name, nil)
		check(t, err)
		return len(comments) + runs.GetTotal() + len(pulls)
	}
	if n := count(); n != 0 {
		t.Errorf("%d objects show at once", n)
	}
	w.hub.Advance(30 * time.Second)
	if n := count(); n != 3 {
		t.Errorf("%d objects show after the lag", n)
	}
}

func TestFreshMiss(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{})
	w.hub.SetFreshMiss(true)
	c, err := w.comment("x")
	check(t, err)
	_, _, err = w.client.Issues.GetComment(t.Context(), owner, name, c.GetID())
	refused(t, err, http.StatusNotFound)
	_, _, err = w.client.Issues.GetComment(t.Context(), owner, name, c.GetID())
	check(t, err)
}

func TestLimitsOfItsOwn(t *testing.T) {
	t.Parallel()
	w := setup(t, githubsim.Options{RateLimit: 6, WritesPerMinute: 2})
	for range 2 {
		_, err := w.comment("x")
		check(t, err)
	}
	_, err := w.comment("x")
	var abuse *github.AbuseRateLimitError
	if !errors.As(err, &abuse) {
		t.Errorf("third write in a minute: %v", err)
	}
	w.client = w.install(nil)
	var limit *github.RateLimitError
	for range 4 {
		_, _, err = w.client.Issues.Get(t.Context(), owner, name, w.issue)
	}
	if !errors.As(err, &limit) {
		t.Errorf("seventh request in an hour: %v", err)
	}
}

// TestInProcess: without sockets the hub runs in a synctest bubble, where the
// deliveries' and tokens' time is fake.
func TestInProcess(t *testing.T) {
	t.Parallel()
	key, err := sharedKey()
	check(t, err)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		hooks := &receiver{}
		hub := githubsim.New(githubsim.Options{Dir: dir, APIPrefix: "/api/v3", WebhookTransport: handlerTransport{hooks}})
		app, err := hub.RegisterApp(githubsim.AppSpec{Name: "Bubble", Key: key, WebhookURL: "http://far.test/hook"})
		check(t, err)
		_, err = hub.CreateRepo(owner, name, map[string]string{"a": "a"})
		check(t, err)
		hub.CreateUser(maya)
		inst, err := hub.Install(app, owner)
		check(t, err)
		n, err := hub.OpenIssue(full, maya, "t", "b")
		check(t, err)

		w := &world{t: t, hub: hub, app: app, inst: inst, base: hub.Transport(), issue: n}
		w.client = w.install(nil)
		_, err = w.comment("in the bubble")
		check(t, err)
		hub.Inject(githubsim.Fault{Kind: githubsim.FaultHangBefore, Path: "comments"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, _, err = w.client.Issues.CreateComment(ctx, owner, name, n, &github.IssueComment{Body: github.String("x")})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hanging request: %v", err)
		}
		hub.Inject(githubsim.Fault{Kind: githubsim.FaultCutAfter, Path: "comments"})
		if _, err = w.comment("cut"); err == nil {
			t.Error("a cut connection answered")
		}
		check(t, hub.AwaitIdle(t.Context()))
		if got := len(hooks.all()); got != 4 {
			t.Errorf("%d webhooks, want installation, issue and two comments", got)
		}
		check(t, hub.Close())
	})
}

// handlerTransport delivers to a handler without sockets.
type handlerTransport struct{ to *receiver }

func (h handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	h.to.ServeHTTP(discard{}, req)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
