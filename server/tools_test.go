package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
)

const (
	toolToken = "an operator's token"
	asked     = "cnv8q5k6n88s73a1e0h1"
)

// noSolves panics.
type noSolves = api.Solves

// oneSolve is a store of one solve. What no test needs panics.
type oneSolve struct {
	noSolves
	now    solve.Solve
	runs   []solve.Run
	patch  string
	looked func(ctx context.Context) // before the solve is read; nil is nothing
}

func (o *oneSolve) Solve(ctx context.Context, id solve.ID) (solve.Solve, error) {
	if id != asked {
		return solve.Solve{}, solve.ErrNotFound
	}
	if o.looked != nil {
		o.looked(ctx)
	}
	return o.now, nil
}

func (o *oneSolve) Solves(context.Context, solve.ID, int) ([]solve.Solve, error) {
	return []solve.Solve{o.now}, nil
}

func (o *oneSolve) RequestCancel(context.Context, solve.ID, string, string) (solve.Solve, error) {
	return solve.Solve{}, solve.ErrNotFound
}

func (o *oneSolve) Runs(context.Context, solve.ID) ([]solve.Run, error) { return o.runs, nil }

func (o *oneSolve) Run(_ context.Context, _ solve.ID, n int) (solve.Run, error) {
	return o.runs[n-1], nil
}

func (o *oneSolve) Artifact(context.Context, solve.ID, string) ([]byte, error) {
	return []byte(o.patch), nil
}

func (o *oneSolve) record(_ context.Context, id solve.ID) (solve.Record, error) {
	if id != asked {
		return solve.Record{}, solve.ErrNotFound
	}
	return solve.Record{V: solve.RecordVersion, Solve: o.now, Runs: o.runs}, nil
}

// toolSite is the server's routes over one store.
type toolSite struct {
	*oneSolve
	url string
	api api.API
}

func newToolSite(t *testing.T, change func(*toolSite)) toolSite {
	t.Helper()
	s := toolSite{oneSolve: &oneSolve{now: solve.Solve{ID: asked, State: solve.StateRunning}}}
	s.api = api.API{
		Solves: s.oneSolve, Record: s.record,
		Token: ghapp.NewSecret(toolToken), TokenSetting: "YUDAI_API_TOKEN", WebURL: "https://github.com",
	}
	if change != nil {
		change(&s)
	}
	h, err := server.NewHandler(zerolog.Nop(), server.Routes{Hook: http.NotFoundHandler()}, s.api)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// post sends one message as a client of an older protocol does.
func (s toolSite) post(ctx context.Context, t *testing.T, body string, header map[string]string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+toolToken)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2025-06-18")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	return http.DefaultClient.Do(req)
}

// withToken sends the token with each request.
type withToken struct{}

func (withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+toolToken)
	return http.DefaultTransport.RoundTrip(r)
}

// use calls a tool with the real client, and reads the answer into out. It returns the text of an error.
func (s toolSite) use(ctx context.Context, t *testing.T, tool, arguments string, out any) (problem string) {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: withToken{}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err.Error()
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return text
	}
	if out == nil {
		return ""
	}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatal(text, err)
	}
	return ""
}

const callStatus = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status","arguments":{"solve":"` + asked + `"}}}`

// TestToolsTakeTheTokenOnly: who may not use the API may not even list the tools. A session of the pages is no token.
func TestToolsTakeTheTokenOnly(t *testing.T) {
	t.Parallel()
	s := newToolSite(t, nil)
	off := newToolSite(t, func(s *toolSite) { s.api.Token = ghapp.Secret{} })
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for name, c := range map[string]struct {
		at     toolSite
		header map[string]string
		body   string
		want   int
	}{
		"nobody":                  {s, map[string]string{"Authorization": ""}, list, 401},
		"a stranger":              {s, map[string]string{"Authorization": "Bearer wrong"}, list, 401},
		"a session of the pages":  {s, map[string]string{"Authorization": "", "Cookie": "yudai=made-up"}, list, 401},
		"the API is off":          {off, nil, list, 403},
		"the operator":            {s, nil, list, 200},
		"the operator by a proxy": {s, map[string]string{"X-Forwarded-Host": "yudai.example.org"}, callStatus, 200},
		"too much":                {s, nil, `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", api.MaxRequest) + `"}`, 413},
		"no JSON":                 {s, nil, `{`, 400},
	} {
		res, err := c.at.post(t.Context(), t, c.body, c.header)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != c.want || (res.StatusCode == 200) != strings.Contains(string(text), `"result"`) {
			t.Errorf("%s: %d %s, want %d", name, res.StatusCode, text, c.want)
		}
		if asks := res.Header.Get("WWW-Authenticate") != ""; asks != (c.want == 401) {
			t.Errorf("%s: asks for a token: %v", name, asks)
		}
	}
	res, err := http.Get(s.url + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != 401 {
		t.Errorf("GET as nobody: %d", res.StatusCode)
	}
}

// TestToolsTellWhatIsWrong: the API's problem, or the argument that cannot be, and what to write.
func TestToolsTellWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newToolSite(t, func(s *toolSite) {
		s.runs, s.patch = []solve.Run{{N: 1, State: solve.RunPassed, Candidate: &solve.Candidate{Artifact: "x"}}}, "diff"
	})
	for _, c := range [][3]string{
		{"status", `{"solve":"cnv8q5k6n88s73a1e0h2"}`, "there is no such solve"},
		{"status", `{"solve":""}`, "the ID of the solve is empty"},
		{"status", `{}`, `missing properties: ["solve"]`},
		{"status", `{"solve":"` + asked + `","run":1}`, "unexpected additional properties"},
		{"cancel", `{"solve":"../../admin/backup"}`, "no ID of a solve begins with"},
		{"cancel", `{"solve":"../../admin/backup??"}`, "path.id: expected string to match pattern"},
		{"why", `{"solve":"` + strings.Repeat("c", 20) + `"}`, "there is no such solve"},
		{"wait", `{"solve":"` + asked + `","seconds":601}`, "seconds: 601 is no time to wait: write 1 to 600"},
		{"wait", `{"solve":"` + asked + `","seconds":-1}`, "seconds: -1 is no time to wait: write 1 to 600"},
		{"diff", `{"solve":"` + asked + `"}`, "the solve has no champion: name a run"},
		{"diff", `{"solve":"` + asked + `","run":2}`, `"2" is no run: the solve is running and has 1 run`},
		{"diff", `{"solve":"` + asked + `","run":-1}`, `"-1" is no run`},
		{"diff", `{"solve":"` + asked + `","run":1,"offset":5}`, "offset: the patch has 4 bytes, and no byte 5: take the next_offset"},
		{"diff", `{"solve":"` + asked + `","run":1,"offset":-1}`, "offset: the patch has 4 bytes, and no byte -1"},
		{"start", `{"repo_url":"octo/hello"}`, `missing properties: ["issue_number"]`},
		{"start", `{"repo_url":"octo/hello","issue_number":1,"matrix":{"temps":[9]}}`, "body.matrix.temps[0]: is not a temperature"},
		{"start", `{"repo_url":"https://evil.example/o/r","issue_number":1}`, "body.repo_url: must be https://github.com/owner/name or owner/name"},
		{"start", `{"repo_url":"octo/hello","issue_number":1,"stop":"never"}`, `stop`},
	} {
		if got := s.use(t.Context(), t, c[0], c[1], nil); !strings.Contains(got, c[2]) {
			t.Errorf("%s %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// TestToolsBoundTheirAnswers, and say what is left out and how to get it.
func TestToolsBoundTheirAnswers(t *testing.T) {
	t.Parallel()
	const bound = 48 << 10
	for name, c := range map[string]struct {
		patch string
		noted bool
	}{
		"lines": {strings.Repeat("+a line of the patch\n", 6000), false}, "one long line of wide characters": {strings.Repeat("+ä€", 30_000), false},
		"no UTF-8": {strings.Repeat("+\xe4\n", 40_000), true}, "short": {"+x\n", false}, "none": {"", false},
	} {
		s := newToolSite(t, func(s *toolSite) {
			s.runs, s.patch = []solve.Run{{N: 1, State: solve.RunPassed, Candidate: &solve.Candidate{Artifact: "x"}}}, c.patch
		})
		whole, parts := "", 0
		for next := 0; parts == 0 || next > 0; parts++ {
			var got struct {
				Patch, Note string
				Bytes, Run  int
				Next        int `json:"next_offset"`
			}
			if problem := s.use(t.Context(), t, "diff", fmt.Sprintf(`{"solve":%q,"run":1,"offset":%d}`, asked, next), &got); problem != "" {
				t.Fatal(name, problem)
			}
			if len(got.Patch) > bound || got.Run != 1 || (got.Note != "") != c.noted || got.Next > 0 && got.Next <= next {
				t.Fatalf("%s: %d bytes from %d to %d, %q", name, len(got.Patch), next, got.Next, got.Note)
			}
			whole, next = whole+got.Patch, got.Next
			if next == 0 && len(whole) != got.Bytes {
				t.Errorf("%s: %d bytes of %d", name, len(whole), got.Bytes)
			}
		}
		if want := strings.ToValidUTF8(c.patch, "\uFFFD"); whole != want || parts > 1 != (len(want) > bound) {
			t.Errorf("%s: %d bytes in %d parts, want %d", name, len(whole), parts, len(want))
		}
	}
	many := newToolSite(t, func(s *toolSite) {
		for n := range 400 {
			s.runs = append(s.runs, solve.Run{N: n + 1, State: solve.RunError, Attempt: 1, Reason: strings.Repeat("why ", 70)})
		}
	})
	var told struct {
		Ended       bool
		Experiments []any
		LeftOut     int `json:"experiments_left_out"`
	}
	many.use(t.Context(), t, "status", `{"solve":"`+asked+`"}`, &told)
	if len(told.Experiments) != 64 || told.LeftOut != 400-64 || told.Ended {
		t.Errorf("%d runs told, %d left out, ended %v", len(told.Experiments), told.LeftOut, told.Ended)
	}
	var why struct {
		Text string
		Cut  bool
	}
	if many.use(t.Context(), t, "why", `{"solve":"`+asked+`"}`, &why); len(why.Text) > bound || len(why.Text) < bound/2 || !why.Cut {
		t.Errorf("%d bytes of a scorecard, cut %v", len(why.Text), why.Cut)
	}
}

// TestWaitEnds: when the time is up, when the server stops, and when the solve has ended, though the server was away meanwhile.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	var told struct {
		Ended bool
		State string
	}
	s := newToolSite(t, nil)
	if problem := s.use(t.Context(), t, "wait", `{"solve":"`+asked+`","seconds":1}`, &told); problem != "" || told.Ended || told.State != "running" {
		t.Errorf("when the time is up: %+v %s", told, problem)
	}
	stopped := make(chan struct{})
	close(stopped)
	s = newToolSite(t, func(s *toolSite) { s.api.Stopped = stopped })
	if problem := s.use(t.Context(), t, "wait", `{"solve":"`+asked+`","seconds":600}`, &told); problem != "" || told.Ended {
		t.Errorf("of a server that stops: %+v %s", told, problem)
	}
	looks := atomic.Int32{}
	s = newToolSite(t, func(s *toolSite) {
		s.looked = func(context.Context) {
			switch n := looks.Add(1); {
			case n == 5:
				s.now.State = solve.StateSolved
			case n > 1:
				panic(http.ErrAbortHandler) // it is away
			}
		}
	})
	if problem := s.use(t.Context(), t, "wait", `{"solve":"`+asked+`"}`, &told); problem != "" || !told.Ended || told.State != "solved" {
		t.Errorf("of one that ends: %+v %s", told, problem)
	}
}

// patient is an answer that notes how long the server would wait for its request and its reader.
type patient struct {
	http.ResponseWriter
	read, write *time.Time
}

func (p patient) SetReadDeadline(t time.Time) error {
	*p.read = t
	return nil
}

func (p patient) SetWriteDeadline(t time.Time) error {
	*p.write = t
	return nil
}

// TestWaitHasItsTime: the minute that other requests have would cut it. Who has no token gets no more time than they.
func TestWaitHasItsTime(t *testing.T) {
	t.Parallel()
	h, err := server.NewHandler(zerolog.Nop(), server.Routes{Hook: http.NotFoundHandler()}, newToolSite(t, nil).api)
	if err != nil {
		t.Fatal(err)
	}
	for header, more := range map[string]bool{"Bearer " + toolToken: true, "Bearer wrong": false} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		r.Header.Set("Authorization", header)
		p := patient{httptest.NewRecorder(), new(time.Time), new(time.Time)}
		h.ServeHTTP(p, r)
		longest := time.Now().Add(10 * time.Minute)
		if p.read.After(longest) != more || p.write.After(longest) != more {
			t.Errorf("%s: read until %v, written until %v", header, p.read, p.write)
		}
	}
}

// TestWaitEndsWithItsClient: nobody asks on for a client that has gone, whichever protocol it speaks.
func TestWaitEndsWithItsClient(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(ctx context.Context, s toolSite){
		"the newest protocol": func(ctx context.Context, s toolSite) { s.use(ctx, t, "wait", `{"solve":"`+asked+`"}`, nil) },
		"an older protocol": func(ctx context.Context, s toolSite) {
			if res, err := s.post(ctx, t, strings.Replace(callStatus, `"status"`, `"wait"`, 1), nil); err == nil {
				res.Body.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, gone := context.WithCancel(t.Context())
			looks, ended := atomic.Int32{}, make(chan struct{})
			s := newToolSite(t, func(s *toolSite) {
				s.looked = func(asking context.Context) {
					if looks.Add(1) == 2 {
						gone()
						<-asking.Done()
						close(ended)
					}
				}
			})
			call(ctx, s)
			<-ended
		})
	}
}
