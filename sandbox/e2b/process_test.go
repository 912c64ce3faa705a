package e2b

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestStreamCutAnywhere: a recorded stream that ends after any byte before its
// last one is a lost connection, never success.
func TestStreamCutAnywhere(t *testing.T) {
	t.Parallel()
	for _, x := range recording(t) {
		if len(x.Response.Frames) == 0 || x.Name == "big-70k" {
			continue
		}
		whole := x.body()
		for n := range len(whole) {
			_, err := (&daemon{}).follow(&opened{from: bytes.NewReader(whole[:n])}, idle(), func(bool, []byte) {})
			if !errors.Is(err, errNoEnd) {
				t.Fatalf("%s cut after %d of %d bytes: %v", x.Name, n, len(whole), err)
			}
		}
	}
}

// idle is a watchdog that nobody needs.
func idle() *watchdog {
	return &watchdog{timer: time.AfterFunc(time.Hour, func() {}), limit: time.Hour}
}

// TestOddStreams: bytes that are no envelopes are a lost connection, too.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a page": "<html>not found</html>", "compressed": "\x01\x00\x00\x00\x02{}", "unknown flag": "\x04\x00\x00\x00\x02{}",
		"huge": "\x00\xff\xff\xff\xff", "end that is no JSON": "\x02\x00\x00\x00\x01x", "event that is no JSON": "\x00\x00\x00\x00\x01x\x02\x00\x00\x00\x02{}",
		"no end of the process": "\x02\x00\x00\x00\x02{}",
	} {
		_, err := (&daemon{}).follow(&opened{from: strings.NewReader(body)}, idle(), func(bool, []byte) {})
		if !errors.Is(err, errNoEnd) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSilence: a stream that says nothing is ended after a while, and one that
// says only that it is alive is not. The clock is synthetic.
func TestSilence(t *testing.T) {
	t.Parallel()
	frame := func(flag byte, text string) string {
		return string([]byte{flag, 0, 0, 0, byte(len(text))}) + text
	}
	for _, c := range []struct {
		name   string
		alive  int // keepalives before it ends, or before it falls silent
		ends   bool
		silent time.Duration
	}{{"alive", 100, true, 0}, {"silent at once", 0, false, 50 * time.Second}, {"silent later", 3, false, 110 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			in, out := io.Pipe()
			go func() {
				for range c.alive {
					if !wait(t.Context(), 20*time.Second) {
						return
					}
					_, _ = io.WriteString(out, frame(0, `{"event":{"keepalive":{}}}`))
				}
				if c.ends {
					_, _ = io.WriteString(out, frame(0, `{"event":{"end":{"exited":true}}}`)+frame(2, `{}`))
				}
			}()
			d := &daemon{base: "http://x", rhythm: defaultRhythm(), http: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				context.AfterFunc(r.Context(), func() { out.CloseWithError(r.Context().Err()) })
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: in, Request: r}, nil
			})}}
			began := time.Now()
			_, err := d.run(t.Context(), start{}, "", func(bool, []byte) {})
			if c.ends != (err == nil) || (err != nil && !errors.Is(err, errSilent)) || (c.silent > 0 && time.Since(began) != c.silent) {
				t.Errorf("%s: %v after %s", c.name, err, time.Since(began))
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestKeepaliveIsNeverZero: it would end the daemon.
func TestKeepaliveIsNeverZero(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{-time.Second, 0, time.Millisecond, time.Second, 90 * time.Second} {
		d := &daemon{base: "http://x", rhythm: rhythm{keepalive: every}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // never becomes a header
		defer cancel()
		req, err := d.streamRequest(ctx, "/process.Process/Start", "root", nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := req.Header.Get("Keepalive-Ping-Interval"); n == "" || n == "0" || strings.HasPrefix(n, "-") {
			t.Errorf("%s is sent as %q", every, n)
		}
		if req.Header.Get("Connect-Timeout-Ms") != "" || req.Header.Get("Authorization") != "Basic cm9vdDo=" {
			t.Errorf("headers %v", req.Header)
		}
	}
	if r := defaultRhythm(); r.silence < r.keepalive*5/2 || r.keepalive < time.Second {
		t.Errorf("%+v: silence is shorter than 2.5 keepalives", r)
	}
}

// TestStdinIsAlwaysSent: without it a process waits for input for ever.
func TestStdinIsAlwaysSent(t *testing.T) {
	t.Parallel()
	data, err := envelope(start{Process: command{Cmd: "/bin/true"}})
	if err != nil || !strings.Contains(string(data), `"stdin":false`) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end  ending
		want int
	}{
		{ending{Exited: true}, 0}, {ending{Exited: true, ExitCode: 255}, 255}, {ending{ExitCode: -1, Status: "signal: killed"}, 137},
		{ending{ExitCode: -1, Status: "signal: terminated"}, 143}, {ending{ExitCode: -1, Status: "signal: segmentation fault (core dumped)"}, 139},
		{ending{ExitCode: -1, Status: "signal: signal 34"}, 162}, {ending{ExitCode: -1, Status: "signal: odd"}, 128}, {ending{ExitCode: -1}, 1},
	} {
		if got := c.end.code(); got != c.want {
			t.Errorf("%+v is %d, want %d", c.end, got, c.want)
		}
	}
}

// TestFilesOnTheWire: what goes wrong with files has its name, and a reader that
// fails or takes its time is told from a broken connection.
func TestFilesOnTheWire(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("path") == "/full" {
			w.WriteHeader(http.StatusInsufficientStorage)
			_, _ = io.WriteString(w, `{"code":507,"message":"not enough disk space"}`)
			return
		}
		if r.Method == http.MethodGet {
			http.Error(w, `{"code":404,"message":"path does not exist"}`, http.StatusNotFound)
			return
		}
		data, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Query().Get("username") != "user" || r.Header.Get("Content-Type") != "application/octet-stream" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	d := &daemon{base: server.URL, http: server.Client(), rhythm: defaultRhythm()}
	d.rhythm.idle = 300 * time.Millisecond
	broken := errors.New("broken on purpose")
	if err := d.upload(t.Context(), "/f", "user", io.MultiReader(strings.NewReader("half"), &failing{broken})); !errors.Is(err, broken) || !errors.Is(err, errInput) {
		t.Errorf("a broken reader: %v", err)
	}
	in, out := io.Pipe()
	var slow sync.WaitGroup
	slow.Go(func() {
		_, _ = out.Write([]byte("a"))
		_ = wait(t.Context(), 2*d.rhythm.idle)
		_, _ = out.Write([]byte("b"))
		_ = out.Close()
	})
	if err := d.upload(t.Context(), "/f", "user", in); err != nil {
		t.Errorf("a slow reader: %v", err)
	}
	slow.Wait()
	if err := d.upload(t.Context(), "/f", "user", strings.NewReader("")); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := d.download(t.Context(), "/none", "user"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestOutputIsReadAlike: the fast way to read output and the general one agree on
// every way to write it.
func TestOutputIsReadAlike(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"event":{"data":{"stdout":"aGkK"}}}`, `{"event":{"data":{"stderr":"aGkK"}}}`, `{"event": {"data": {"stdout": "aGkK"}}}`,
		`{"event":{"data":{"stdout":"aGkK"}},"more":1}`, `{"event":{"data":{"stdout":"aGk\u004b"}}}`, `{"event":{"data":{"stdout":"//\/\/"}}}`,
		`{"event":{"data":{"stdout":""}}}`, `{"event":{"data":{"stdout":"aGkK","stderr":"aGkK"}}}`, `{"event":{"data":{"pty":"aGkK"}}}`,
		`{"event":{"data":{"stdin":"aGkK"}}}`,
	} {
		var e event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		want := string(e.Event.Data.Stdout) + "|" + string(e.Event.Data.Pty) + "|" + string(e.Event.Data.Stderr)
		var p plainOutput
		piece, stderr, ok := p.read([]byte(text))
		if !ok {
			continue
		}
		got := string(piece) + "||"
		if stderr {
			got = "||" + string(piece)
		}
		if got != want {
			t.Errorf("%s is read as %q, want %q", text, got, want)
		}
	}
	var p plainOutput
	if _, _, ok := p.read([]byte(`{"event":{"data":{"stdout":"aGkK"}}}`)); !ok {
		t.Error("the fast way does not know what the daemon writes")
	}
	if _, _, ok := p.read([]byte(`{"event":{"data":{"stdout":"!!!!"}}}`)); ok {
		t.Error("what is no base64 is taken for output")
	}
}
