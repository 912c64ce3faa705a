package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// A token opens its own run's session while that is open, however it is presented, and no other.
func TestTokens(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		w := newWorld(t, provider, nil, plain(whole(api)))
		other, shut, err := w.g.Open("run-b", agent.AccessLoopback, solve.Experiment{Model: "m"}, &books{})
		if err != nil {
			t.Fatal(err)
		}
		if len(w.session.Token) < len(gateway.TokenPrefix)+40 || other.Token == w.session.Token || !strings.HasPrefix(w.session.Token, gateway.TokenPrefix) {
			t.Errorf("tokens %q, %q", w.session.Token, other.Token)
		}
		own := w.session.URL + path(api)
		good := []struct{ auth, key string }{{"Bearer " + w.session.Token, ""}, {"bearer " + w.session.Token, ""}, {"", w.session.Token}, {"Bearer sk-dummy", w.session.Token}}
		for _, c := range good {
			if got := w.askWith(t.Context(), own, c.auth, `{}`, "X-Api-Key", c.key); got.status != 200 {
				t.Errorf("%+v: %+v", c, got)
			}
		}
		n := w.up.calls()
		for _, c := range []struct{ url, auth string }{
			{own, ""}, {own, "Bearer "}, {own, "Bearer x"}, {own, "Basic " + w.session.Token}, {own, "Bearer " + w.session.Token[:30]}, {own, "Bearer " + w.session.Token + "a"},
			{own, "Bearer " + other.Token}, {other.URL + path(api), "Bearer " + w.session.Token},
			{strings.Replace(own, run, "run-c", 1), "Bearer " + w.session.Token}, {strings.Replace(own, run, "RUN", 1), "Bearer " + w.session.Token},
			{strings.Replace(own, run, "secret", 1), "Bearer " + w.session.Token}, {strings.Replace(own, run, "run-a.open", 1), "Bearer " + w.session.Token},
		} {
			got := w.askWith(t.Context(), c.url, c.auth, `{}`)
			kind, message := got.wrong(t, api)
			if got.status != 401 || kind != "authentication_error" || !strings.Contains(message, "no valid run token") {
				t.Errorf("%+v: %+v", c, got)
			}
			w.clean(got.body)
		}
		if w.up.calls() != n || !strings.Contains(w.log.String(), "token of run run-b") {
			t.Errorf("%d calls, log %s", w.up.calls()-n, w.log)
		}
		shut()
	})
}

func TestListOfModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, model.OpenAI, nil, plain("{}"))
	for _, c := range []struct{ head, auth, want string }{
		{"", "Bearer " + w.session.Token, `{"data":[{"created":0,"id":"m","object":"model","owned_by":"yudai"}],"object":"list"}`},
		{"2023-06-01", "Bearer " + w.session.Token, `{"data":[{"created_at":"1970-01-01T00:00:00Z","display_name":"m","id":"m","type":"model"}],"first_id":"m","has_more":false,"last_id":"m"}`},
		{"", "", "run token"},
	} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.session.URL+"/v1/models?limit=1000", nil)
		req.Header.Set("Authorization", c.auth)
		if c.head != "" {
			req.Header.Set("Anthropic-Version", c.head)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if !strings.Contains(string(data), c.want) {
			t.Errorf("%s", data)
		}
	}
}

// No money, a limit, the end of the run: the agent is told to stop, and why.
func TestClosedDoors(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		for _, c := range []struct {
			err     error
			status  int
			want    string
			trouble bool
		}{
			{fmt.Errorf("budget: %w", agent.ErrBudget), 401, "money of this solve", true},
			{fmt.Errorf("run: %w", agent.ErrLimit), 401, "limit of this run", true},
			{agent.ErrRunOver, 401, "has ended", false},
			{errors.New("disk full"), 503, "try again", false},
		} {
			w := newWorld(t, provider, nil, plain(whole(api)))
			w.books.refuse = c.err
			got := w.ask(path(api), `{}`)
			if _, message := got.wrong(t, api); got.status != c.status || !strings.Contains(message, c.want) || strings.Contains(message, "disk") {
				t.Errorf("%v: %+v", c.err, got)
			}
			if trouble := w.session.LastError(); (trouble != nil) != c.trouble || c.trouble && !errors.Is(trouble, c.err) {
				t.Errorf("trouble %v", trouble)
			}
			if w.up.calls() != 0 || len(w.books.settled()) != 0 {
				t.Error("the model was asked")
			}
		}
		w := newWorld(t, provider, nil, plain(whole(api)))
		w.shut()
		w.shut()
		got := w.ask(path(api), `{}`)
		if _, message := got.wrong(t, api); got.status != 401 || !strings.Contains(message, "has ended") || w.up.calls() != 0 {
			t.Errorf("closed: %+v", got)
		}
	})
}

// A session that closes ends its calls and waits until they are settled.
func TestDoorClosesInTheMiddle(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		for name, a := range map[string]answer{
			"before the answer": {hang: true},
			"in the middle":     {kind: "text/event-stream", parts: events(api)[:1], stall: true},
		} {
			w := newWorld(t, provider, nil, a)
			done := make(chan said, 1)
			go func() { done <- w.ask(path(api), `{"stream":true}`) }()
			await(t, "the provider is asked", func() bool { return w.up.calls() == 1 })
			if name != "before the answer" { // its first bytes are through
				await(t, "the stream has begun", func() bool { return w.up.working() == 1 })
			}
			w.shut()
			calls := w.books.settled()
			if len(calls) != 1 || !calls[0].Estimated || calls[0].Usage.Calls != 1 || w.session.Usage() != calls[0].Usage {
				t.Errorf("%s: when shut returns: %+v", name, calls)
			}
			if got := <-done; !strings.Contains(got.body, "has ended") || got.status != 401 && got.status != 200 {
				t.Errorf("%s: %+v", name, got)
			}
			await(t, "the provider works no more", func() bool { return w.up.working() == 0 })
		}
	})
}

// A call that cannot be settled gives its answer to nobody, and is the last one. The run
// is not over by that: the agent is to come again.
func TestCallThatCannotBeSettled(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, api, provider string) {
		for _, ask := range []string{`{}`, `{"stream":true}`} {
			a := plain(whole(api))
			if ask != `{}` {
				a = stream(events(api)...)
			}
			w := newWorld(t, provider, func(s *setting) { s.books.lost = errors.New("lease lost") }, a)
			got := w.ask(path(api), ask)
			all := strings.Join(events(api), "")
			if !strings.Contains(got.body, "try again") || strings.Contains(got.body, all) || ask == `{}` && got.status != 503 {
				t.Errorf("%+v", got)
			}
			if got := w.ask(path(api), ask); got.status != 503 || w.up.calls() != 1 || got.head.Get("X-Should-Retry") != "" {
				t.Errorf("then %+v", got)
			}
			w.shut()
			if got := w.ask(path(api), ask); got.status != 503 {
				t.Errorf("given up by its owner: %+v", got)
			}
		}
	})
}

// The next process opens the same session; before it comes to that, the agent waits. A run
// that is over stays over.
func TestDoorsAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	up := newProvider(t, plain(chatBody))
	next := func() *gateway.Gateway {
		models, err := model.NewSet(model.Config{Attempts: 1, RetryWait: 1, RetryMax: 1, Models: []model.Entry{{Name: "m", Provider: model.OpenAI, BaseURL: up.URL}}}, os.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		cfg := gateway.DefaultConfig()
		cfg.Dir = filepath.Join(dir, "a", "b")
		g, err := gateway.New(cfg, models, "https://h", zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		return g
	}
	ask := func(g *gateway.Gateway, d agent.GatewaySession) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, strings.TrimPrefix(d.URL, "https://h")+path(agent.APIChat), strings.NewReader("{}"))
		r.Header.Set("X-Api-Key", d.Token)
		g.ServeHTTP(w, r)
		return w.Code
	}
	g := next()
	if _, err := os.Stat(filepath.Join(dir, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("something is made before a run comes")
	}
	goes, _, err := g.Open("goes-on", agent.AccessPublic, solve.Experiment{Model: "m"}, &books{})
	if err != nil {
		t.Fatal(err)
	}
	over, shut, err := g.Open("is-over", agent.AccessPublic, solve.Experiment{Model: "m"}, &books{})
	if err != nil {
		t.Fatal(err)
	}
	if goes.URL != "https://h/gateway/goes-on" || ask(g, goes) != 200 || ask(g, over) != 200 {
		t.Errorf("%+v", goes)
	}
	shut()
	g.Stop()
	if a, b := ask(g, goes), ask(g, over); a != 503 || b != 401 {
		t.Errorf("stopping: %d, %d", a, b)
	}
	late, shutLate, err := g.Open("too-late", agent.AccessPublic, solve.Experiment{Model: "m"}, &books{})
	if err != nil || ask(g, late) != 503 {
		t.Errorf("%v, %d", err, ask(g, late))
	}
	shutLate()
	if ask(g, late) != 503 {
		t.Error("the stop ended a run")
	}
	g.Close()
	g.Close()
	if _, _, err := g.Open("run", agent.AccessPublic, solve.Experiment{Model: "m"}, &books{}); err == nil {
		t.Error("a closed gateway opens sessions")
	}

	g = next()
	if a, b := ask(g, goes), ask(g, over); a != 503 || b != 401 {
		t.Errorf("the next process, before it comes to it: %d, %d", a, b)
	}
	again, shut, err := g.Open("goes-on", agent.AccessPublic, solve.Experiment{Model: "m"}, &books{})
	if err != nil || again.Token != goes.Token || again.URL != goes.URL || ask(g, goes) != 200 {
		t.Errorf("%+v, %v", again, err)
	}
	info, err := os.Stat(filepath.Join(dir, "a", "b", gateway.SecretFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if runs, err := g.Runs(); err != nil || fmt.Sprint(runs) != "[goes-on too-late]" {
		t.Error(runs, err)
	}
	shut()
	if ask(g, goes) != 401 {
		t.Error("over, and still open")
	}
	if err := errors.Join(g.Forget("goes-on"), g.Forget("too-late"), g.Forget("never-was")); err != nil {
		t.Error(err)
	}
	if runs, err := g.Runs(); err != nil || len(runs) != 0 || g.Forget("../x") == nil {
		t.Error(runs, err)
	}
}

// A new owner in the same process takes the session over; the old one can close nothing.
func TestDoorPassesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, model.OpenAI, nil, answer{hang: true}, plain(chatBody))
	done := make(chan said, 1)
	go func() { done <- w.ask(path(agent.APIChat), `{}`) }()
	await(t, "the provider is asked", func() bool { return w.up.calls() == 1 })
	fresh := &books{}
	session, _, err := w.g.Open(run, agent.AccessLoopback, solve.Experiment{Model: "m"}, fresh)
	if err != nil || session.URL != w.session.URL || session.Token != w.session.Token {
		t.Fatalf("%+v, %v", session, err)
	}
	if got := <-done; got.status != 503 {
		t.Errorf("the old owner's call: %+v", got)
	}
	w.shut()
	if got := w.ask(path(agent.APIChat), `{}`); got.status != 200 || len(fresh.settled()) != 1 || len(w.books.settled()) != 1 {
		t.Errorf("%+v", got)
	}
}

// The socket is where drivers show it: a directory of the run's own below a private one.
func TestSockets(t *testing.T) {
	t.Parallel()
	var dirs string
	w := newWorld(t, model.OpenAI, func(s *setting) {
		s.cfg.Dir = filepath.Join(s.cfg.Dir, strings.Repeat("long", 20))
		dirs = s.cfg.Dir
	}, plain(chatBody))
	dir, err := w.g.Socket("run-s")
	if err != nil || dir != filepath.Join(dirs, "run-s") || !filepath.IsAbs(dir) {
		t.Fatal(dir, err)
	}
	session, shut, err := w.g.Open("run-s", agent.AccessSocket, solve.Experiment{Model: "m"}, w.books)
	if err != nil || session.URL != "http://"+sandbox.SocketAddress {
		t.Fatal(session, err)
	}
	for file, mode := range map[string]fs.FileMode{dirs: fs.ModeDir | 0o700, dir: fs.ModeDir | 0o755, filepath.Join(dir, sandbox.SocketName): fs.ModeSocket | 0o666} {
		if info, err := os.Stat(file); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	link := filepath.Join(t.TempDir(), "s") // the real path is too long
	if err := os.Symlink(filepath.Join(dir, sandbox.SocketName), link); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", link) }}}
	ask := func(token string) int {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, session.URL+path(agent.APIChat), strings.NewReader("{}"))
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := client.Do(req)
		if err != nil {
			return 0
		}
		res.Body.Close()
		return res.StatusCode
	}
	if a, b := ask(session.Token), ask(w.session.Token); a != 200 || b != 401 {
		t.Errorf("own token %d, another's %d", a, b)
	}
	// A session is only where it was opened.
	public := httptest.NewServer(w.g)
	t.Cleanup(public.Close)
	for _, url := range []string{public.URL + "/gateway/run-s", strings.Replace(w.session.URL, run, "run-s", 1)} {
		if got := w.askWith(t.Context(), url+path(agent.APIChat), "Bearer "+session.Token, "{}"); got.status != 401 {
			t.Errorf("%s: %+v", url, got)
		}
	}
	shut()
	if ask(session.Token) != 401 {
		t.Error("over, and still open")
	}
	if _, shut, err = w.g.Open("run-s", agent.AccessSocket, solve.Experiment{Model: "m"}, w.books); err != nil || ask(session.Token) != 200 {
		t.Error("not open again", err)
	}
	shut()
	if err := w.g.Forget("run-s"); err != nil || ask(session.Token) != 0 {
		t.Error("not forgotten", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// The public side lives behind a web server with time limits of its own, which a stream outlasts.
func TestPublicStreamsOutlastTheFront(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, model.OpenAI, nil, answer{kind: "text/event-stream", parts: []string{chatDelta}, wait: release})
	w.up.answers = []answer{{kind: "text/event-stream", parts: []string{chatDelta}, wait: release}}
	front := httptest.NewUnstartedServer(w.g)
	front.Config.ReadTimeout, front.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	front.Start()
	t.Cleanup(front.Close)
	session, _, err := w.g.Open("run-p", agent.AccessPublic, solve.Experiment{Model: "m"}, w.books)
	if err != nil || w.g.PublicHost() != "yudai.test" || session.URL != "https://yudai.test/gateway/run-p" {
		t.Fatal(session, err)
	}
	timer := time.AfterFunc(300*time.Millisecond, func() { close(release) })
	defer timer.Stop()
	got := w.askWith(t.Context(), front.URL+"/gateway/run-p"+path(agent.APIChat), "Bearer "+session.Token, `{"stream":true}`)
	if !strings.HasPrefix(got.body, chatDelta) || !strings.Contains(got.body, "broke off") {
		t.Errorf("%+v", got)
	}
}

func TestNoPublicAddress(t *testing.T) {
	t.Parallel()
	models, err := model.NewSet(model.DefaultConfig(), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	cfg := gateway.DefaultConfig()
	cfg.Dir = t.TempDir()
	g, err := gateway.New(cfg, models, "", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, _, err := g.Open("r", agent.AccessPublic, solve.Experiment{Model: "gpt-5"}, &books{}); err == nil || !strings.Contains(err.Error(), "server.public_url") || g.PublicHost() != "" {
		t.Error(err)
	}
	for public, want := range map[string]string{
		"https://yudai.test/x": "yudai.test", "https://yudai.test:443": "yudai.test", "http://yudai.test:80": "yudai.test",
		"https://yudai.test:8443": "", "https://192.0.2.7": "", "https://[2001:db8::7]": "", "http://yudai.test:443": "",
	} {
		if g, err := gateway.New(cfg, models, public, zerolog.Nop()); err != nil || g.PublicHost() != want {
			t.Errorf("%s is %q to network rules, want %q (%v)", public, g.PublicHost(), want, err)
		}
	}
	for _, bad := range []string{"", "secret", "a/b", "..", "A", "a.open", strings.Repeat("a", 81)} {
		if _, err := g.Socket(bad); err == nil {
			t.Errorf("%q is a run", bad)
		}
	}
}

func TestBadSecret(t *testing.T) {
	t.Parallel()
	cfg := gateway.DefaultConfig()
	cfg.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(cfg.Dir, gateway.SecretFile), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.New(cfg, nil, "", zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "gateway.dir") || !strings.Contains(err.Error(), "remove it") {
		t.Error(err)
	}
}

// A hundred runs at once keep their books apart, and all of them right.
func TestManyDoors(t *testing.T) {
	t.Parallel()
	const sessions, calls = 100, 4
	w := newWorld(t, model.OpenAI, nil, stream(chatDelta, chatStop, chatUsage, chatDone))
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			own := &books{}
			session, shut, err := w.g.Open(fmt.Sprintf("many-%d", i), agent.AccessLoopback, solve.Experiment{Model: "m"}, own)
			if err != nil {
				t.Error(err)
				return
			}
			for n := range calls {
				if got := w.askWith(t.Context(), session.URL+path(agent.APIChat), "Bearer "+session.Token, `{"stream":true}`); got.status != 200 {
					t.Errorf("%d: %+v", i, got)
				}
				if got := len(own.settled()); got != n+1 { // before the client has its last byte
					t.Errorf("%d calls settled after %d answers", got, n+1)
				}
			}
			want := paid()
			want.Calls, want.Input, want.CachedRead, want.Output, want.Cost = calls, calls*want.Input, calls*want.CachedRead, calls*want.Output, calls*want.Cost
			if session.Usage() != want {
				t.Errorf("%d: %+v", i, session.Usage())
			}
			shut()
		})
	}
	all.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.count) != sessions*calls || w.count[0].Outcome != gateway.OK || w.count[0].Usage != paid() || w.count[0].Model != "m" || w.count[0].API != agent.APIChat {
		t.Errorf("%d counted, the first is %+v", len(w.count), w.count[0])
	}
}
