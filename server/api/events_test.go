package api_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
)

// listen opens the stream of events of a solve.
func (s site) listen(t *testing.T, header map[string]string) (*http.Response, *bufio.Reader) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/solve/"+ran+"/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res, bufio.NewReader(res.Body)
}

// working is a site with a solve at work, of which two things have happened.
func working(t *testing.T, change func(*api.API)) site {
	t.Helper()
	s := newSite(t, change)
	s.solves = []solve.Solve{{ID: ran, State: solve.StateQueued}}
	s.happens(0, solve.EventClaimed, solve.StatePreparing)
	s.happens(0, solve.EventBaseReady, solve.StateRunning)
	return s
}

// event is how an event is sent.
func event(seq, run, name, to string) string {
	if run != "" {
		run = `"run":` + run + `,`
	}
	return `{"solve":"` + ran + `","seq":` + seq + `,"at":"2026-11-21T12:00:00Z",` + run + `"event":"` + name + `","from":"","to":"` + to + `"}`
}

// next reads so many lines.
func next(t *testing.T, r *bufio.Reader, n int) (out string) {
	t.Helper()
	for range n {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, out)
		}
		out += line
	}
	return out
}

// TestEvents: what happened comes first, then what happens, each once; the stream ends with the solve.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := working(t, nil)
	res, r := s.listen(t, nil)
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream; charset=utf-8" {
		t.Fatalf("%d %s", res.StatusCode, kind)
	}
	want := "retry: 1000\n\nid: 1\ndata: " + event("1", "", "claimed", "preparing") + "\n\nid: 2\ndata: " + event("2", "", "base_ready", "running") + "\n\n"
	if got := next(t, r, 8); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	s.happens(1, solve.EventStarted, solve.StateRunning)
	if got, want := next(t, r, 3), "id: 3\ndata: "+event("3", "1", "started", "running")+"\n\n"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	s.happens(0, solve.EventPublished, solve.StateSolved)
	rest, err := io.ReadAll(r)
	if want := "id: 4\ndata: " + event("4", "", "published", "solved") + "\n\nevent: end\ndata: \n\n"; err != nil || string(rest) != want {
		t.Errorf("%v %q, want %q", err, rest, want)
	}
}

// TestEventsGoOn: a reader that was cut gets what it has not, and nothing twice; also of a solve that ended meanwhile.
func TestEventsGoOn(t *testing.T) {
	t.Parallel()
	s := working(t, nil)
	for _, accept := range []string{"application/x-ndjson", "application/jsonl, */*"} {
		res, r := s.listen(t, map[string]string{"Last-Event-ID": "1", "Accept": accept})
		if got := next(t, r, 1); res.Header.Get("Content-Type") != "application/x-ndjson" || got != event("2", "", "base_ready", "running")+"\n" {
			t.Errorf("%s: %v %q", accept, res.Header, got)
		}
	}
	s.happens(0, solve.EventFailed, solve.StateFailed)
	for last, want := range map[string]string{"2": event("3", "", "failed", "failed") + "\n", "3": "", "9": ""} {
		_, r := s.listen(t, map[string]string{"Last-Event-ID": last, "Accept": "application/x-ndjson"})
		if rest, err := io.ReadAll(r); err != nil || string(rest) != want {
			t.Errorf("after %s: %v %q, want %q", last, err, rest, want)
		}
	}
}

// TestEventsEndWithTheServer: a stream does not hold the shutdown up.
func TestEventsEndWithTheServer(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	s := working(t, func(a *api.API) { a.Stopped = stopped })
	_, r := s.listen(t, nil)
	next(t, r, 8)
	close(stopped)
	if rest, err := io.ReadAll(r); err != nil || len(rest) != 0 {
		t.Errorf("%v %q", err, rest)
	}
}

// TestEventsRefuse: what cannot be answered is a problem, and no stream.
func TestEventsRefuse(t *testing.T) {
	t.Parallel()
	s := working(t, nil)
	for _, c := range []struct {
		id, last, authorization string
		want                    int
	}{
		{"cnv8q5k6n88s73a1e0h9", "", "Bearer " + token, http.StatusNotFound},
		{ran, "two", "Bearer " + token, http.StatusUnprocessableEntity},
		{ran, "", "Bearer wrong", http.StatusUnauthorized},
	} {
		var p problem
		header := map[string]string{"Accept": "text/event-stream", "Authorization": c.authorization, "Last-Event-ID": c.last}
		res := s.call(t, "GET", "/solve/"+c.id+"/events", "", header, &p)
		if res.StatusCode != c.want || p.Status != c.want || res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%+v: %d %+v", c, res.StatusCode, p)
		}
	}
	s.broken = errors.New("dial tcp 10.0.0.7: refused")
	_, r := s.listen(t, nil)
	if rest, err := io.ReadAll(r); err == nil && strings.Contains(string(rest), "10.0.0.7") {
		t.Errorf("%s", rest)
	}
}
