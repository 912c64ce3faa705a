package e2b

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
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
			_, err := recorded(body(whole[:n])).run(t.Context(), &envd.StartRequest{}, "", func(bool, []byte) {})
			if !errors.Is(err, guest.ErrCut) {
				t.Fatalf("%s cut after %d of %d bytes: %v", x.Name, n, len(whole), err)
			}
		}
	}
}

// body answers every request with a stream of these bytes.
func body(data []byte) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: streamHeader(), Body: io.NopCloser(bytes.NewReader(data)), Request: r}, nil
	})
}

func streamHeader() http.Header { return http.Header{"Content-Type": {"application/connect+json"}} }

// TestOddStreams: bytes that are no envelopes are a lost connection, too.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a page": "<html>not found</html>", "compressed": "\x01\x00\x00\x00\x02{}", "unknown flag": "\x04\x00\x00\x00\x02{}",
		"huge": "\x00\xff\xff\xff\xff", "end that is no JSON": "\x02\x00\x00\x00\x01x", "event that is no JSON": "\x00\x00\x00\x00\x01x\x02\x00\x00\x00\x02{}",
		"no end of the process": "\x02\x00\x00\x00\x02{}",
	} {
		_, err := recorded(body([]byte(text))).run(t.Context(), &envd.StartRequest{}, "", func(bool, []byte) {})
		if !errors.Is(err, guest.ErrCut) {
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
					if clock.Sleep(t.Context(), 20*time.Second) != nil {
						return
					}
					_, _ = io.WriteString(out, frame(0, `{"event":{"keepalive":{}}}`))
				}
				if c.ends {
					_, _ = io.WriteString(out, frame(0, `{"event":{"end":{"exited":true}}}`)+frame(2, `{}`))
					_ = out.Close()
				}
			}()
			d := recorded(roundTrip(func(r *http.Request) (*http.Response, error) {
				context.AfterFunc(r.Context(), func() { out.CloseWithError(r.Context().Err()) })
				return &http.Response{StatusCode: 200, Header: streamHeader(), Body: in, Request: r}, nil
			}))
			began := time.Now()
			_, err := d.run(t.Context(), &envd.StartRequest{}, "", func(bool, []byte) {})
			if c.ends != (err == nil) || (err != nil && !errors.Is(err, cloud.ErrStalled)) || (c.silent > 0 && time.Since(began) != c.silent) {
				t.Errorf("%s: %v after %s", c.name, err, time.Since(began))
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestStartRequest: a keepalive of zero would end the daemon, a deadline the process,
// and a process without stdin would wait for input for ever.
func TestStartRequest(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{-time.Second, 0, time.Millisecond, time.Second, 90 * time.Second} {
		var sent struct{ Stdin *bool }
		d := recorded(roundTrip(func(r *http.Request) (*http.Response, error) {
			if n := r.Header.Get("Keepalive-Ping-Interval"); n == "" || n == "0" || strings.HasPrefix(n, "-") {
				t.Errorf("%s is sent as %q", every, n)
			}
			if r.Header.Get("Connect-Timeout-Ms") != "" || r.Header.Get("Authorization") != "Basic cm9vdDo=" {
				t.Errorf("headers %v", r.Header)
			}
			data, err := io.ReadAll(r.Body)
			return nil, errors.Join(err, json.Unmarshal(data[5:], &sent), io.ErrUnexpectedEOF)
		}))
		d.provider.timing.keepalive = every
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // never becomes a header
		_, err := d.Start(ctx, guest.Process{Argv: []string{"/bin/true"}, Root: true}, func(bool, []byte) {})
		cancel()
		if !errors.Is(err, guest.ErrCut) || sent.Stdin == nil || *sent.Stdin {
			t.Errorf("%v, stdin %v", err, sent.Stdin)
		}
	}
	if r := defaultTiming(); r.silence < r.keepalive*5/2 || r.keepalive < time.Second {
		t.Errorf("%+v: silence is shorter than 2.5 keepalives", r)
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end  *envd.ProcessEvent_EndEvent
		want int
	}{
		{&envd.ProcessEvent_EndEvent{Exited: true}, 0}, {&envd.ProcessEvent_EndEvent{Exited: true, ExitCode: 255}, 255}, {&envd.ProcessEvent_EndEvent{ExitCode: -1, Status: "signal: killed"}, 137},
		{&envd.ProcessEvent_EndEvent{ExitCode: -1, Status: "signal: terminated"}, 143}, {&envd.ProcessEvent_EndEvent{ExitCode: -1, Status: "signal: segmentation fault (core dumped)"}, 139},
		{&envd.ProcessEvent_EndEvent{ExitCode: -1, Status: "signal: signal 34"}, 162}, {&envd.ProcessEvent_EndEvent{ExitCode: -1, Status: "signal: odd"}, 128}, {&envd.ProcessEvent_EndEvent{ExitCode: -1}, 1},
	} {
		if got := exitCode(c.end); got != c.want {
			t.Errorf("%+v is %d, want %d", c.end, got, c.want)
		}
	}
}

// TestFilesOnTheWire: what goes wrong with files has its name, and a reader that
// fails is told from a broken connection.
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
	p := &provider{http: server.Client(), timing: defaultTiming(), control: controlOn(server.Client(), server.URL)}
	p.config.SandboxURL = server.URL
	d := cloud.Machine{Wire: p.daemon(machine{ID: "i"})}
	broken := errors.New("broken on purpose")
	if err := d.Upload(t.Context(), "/f", io.MultiReader(strings.NewReader("half"), &failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a broken reader: %v", err)
	}
	for _, text := range []string{"", "text"} {
		if err := d.Upload(t.Context(), "/f", strings.NewReader(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := d.Upload(t.Context(), "/full", strings.NewReader("x")); !errors.Is(err, sandbox.ErrDisk) {
		t.Errorf("a full disk: %v", err)
	}
	if _, err := d.Download(t.Context(), "/none"); !errors.Is(err, fs.ErrNotExist) {
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
		fast, general := &envd.StartResponse{}, &envd.StartResponse{}
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(text), general); err != nil {
			continue // two outputs in one event, which the protocol does not have
		}
		if plainOutput([]byte(text), fast) && !proto.Equal(fast, general) {
			t.Errorf("%s is read as %v, want %v", text, fast, general)
		}
		if err := (outputCodec{}).Unmarshal([]byte(text), &envd.StartResponse{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if !plainOutput([]byte(`{"event":{"data":{"stdout":"aGkK"}}}`), &envd.StartResponse{}) {
		t.Error("the fast way does not know what the daemon writes")
	}
	if plainOutput([]byte(`{"event":{"data":{"stdout":"!!!!"}}}`), &envd.StartResponse{}) {
		t.Error("what is no base64 is taken for output")
	}
}
