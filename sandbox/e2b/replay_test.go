package e2b

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
)

// exchange is one of the recording of the real daemon.
type exchange struct {
	Name    string `json:"name"`
	Request struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    []byte            `json:"body_b64"`
	} `json:"request"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    []byte            `json:"body_b64"`
		Frames  []struct {
			Flags   byte   `json:"flags"`
			Payload string `json:"payload"`
		} `json:"frames"`
	} `json:"response"`
}

// body is the response's, frames in their envelopes.
func (x exchange) body() []byte {
	out := slices.Clone(x.Response.Body)
	for _, f := range x.Response.Frames {
		n := len(f.Payload)
		out = append(out, f.Flags, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
		out = append(out, f.Payload...)
	}
	return out
}

// message is the request's, without its envelope.
func (x exchange) message(t *testing.T) map[string]any {
	t.Helper()
	data := x.Request.Body
	if x.Request.Headers["Content-Type"] == "application/connect+json" {
		data = data[5:] // the envelope
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// pieces gives a body in pieces of random length, as a network does.
type pieces struct{ rest []byte }

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 1+rand.IntN(7))], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// replay is a daemon that answers with one recorded exchange, and keeps the request.
type replay struct {
	exchange exchange
	cut      bool // give the answer in pieces

	got  *http.Request
	sent []byte
}

func (r *replay) RoundTrip(req *http.Request) (*http.Response, error) {
	r.got = req
	if req.Body != nil {
		r.sent, _ = io.ReadAll(req.Body)
	}
	h := http.Header{}
	for k, v := range r.exchange.Response.Headers {
		h.Set(k, v)
	}
	var body io.Reader = bytes.NewReader(r.exchange.body())
	if r.cut {
		body = &pieces{rest: r.exchange.body()}
	}
	return &http.Response{StatusCode: r.exchange.Response.Status, Header: h, Body: io.NopCloser(body), Request: req}, nil
}

// client is a daemon's client on the recording.
func (r *replay) client() *daemon {
	return recorded(r)
}

// recorded is a client of a daemon behind a transport, as patient as when the recording was made.
func recorded(rt http.RoundTripper) *daemon {
	p := &provider{http: &http.Client{Transport: rt}, timing: defaultTiming()}
	p.config.SandboxURL, p.timing.keepalive = "http://recorded", 50*time.Second
	return p.daemon(machine{ID: "i"})
}

// meant is what a recorded exchange means for the driver.
type meant struct {
	Out, Err string   // of a process
	Code     int      // of a process
	Fails    string   // a part of the error
	Status   int      // of an answer that is an error
	Body     string   // of a file
	Listed   []uint32 // pids
}

// means is what every exchange of the recording means.
func means() map[string]meant {
	x := strings.Repeat("x", 70000)
	token := "unauthorized access"
	return map[string]meant{
		"health": {}, "exit0": {}, "exit3": {Out: "hi\n", Err: "err\n", Code: 3},
		"missing-binary": {Err: "/usr/bin/nice: 'no-such-binary': No such file or directory\n", Code: 127},
		"cwd-missing":    {Fails: "invalid_argument: cwd '/nope' does not exist"},
		"unknown-user":   {Fails: "unauthenticated: invalid username: 'nosuch'"},
		"self-kill":      {Code: 137}, "timeout-header": {Out: "a\n", Fails: "deadline_exceeded"}, "timeout-zero": {Fails: "deadline_exceeded"},
		"keepalive": {}, "utf8-split": {Out: "a€ b"}, "grandchild-holds-end": {Out: "started\n"},
		"pty": {Out: "/dev/pts/0\r\n30 100\r\n", Code: 7}, "big-70k": {Out: x}, "env-cwd": {Out: "/usr\nbar\n"},
		"send-sigterm": {}, "sigterm": {Out: "up\nbye\n", Code: 5}, "send-sigkill": {}, "sigkill": {Out: "up\n", Code: 137},
		"send-input": {}, "list-running": {Listed: []uint32{35}}, "close-stdin": {}, "stdin": {Out: "x\ndone\n"},
		"late": {Out: "bye\n", Code: 4}, "connect-late": {Code: 4}, "connect-unknown": {Fails: "not_found: process with pid 999999 not found"},
		"signal-unknown": {Status: 404, Fails: "process with pid 999999 not found"}, "list-empty": {},
		"stat-missing": {Status: 404, Fails: "file not found"}, "mkdir": {}, "mkdir-again": {Status: 409, Fails: "already_exists"},
		"upload-octet": {}, "upload-multipart": {}, "upload-bad-type": {Status: 400, Fails: "unsupported content type"},
		"upload-onto-dir": {Status: 400, Fails: "path is a directory"}, "download": {Body: "hello"}, "download-range": {Body: "el"},
		"download-missing": {Status: 404, Fails: "does not exist"}, "download-dir": {Status: 400, Fails: "is a directory"},
		"listdir": {}, "move": {}, "remove": {}, "remove-again": {}, "init-token": {}, "envs": {}, "metrics": {},
		"list-no-token": {Status: 401, Fails: token}, "start-no-token": {Status: 401, Fails: token}, "list-with-token": {},
		"download-no-sig": {Status: 401, Fails: "missing signature"}, "download-signed": {Body: "vm\n"},
	}
}

func recording(t *testing.T) []exchange {
	t.Helper()
	data, err := os.ReadFile("../../test/e2bsim/testdata/envd-0.6.13-transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Recorded []exchange }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all.Recorded
}

// TestReplay reads every recorded answer of the real daemon, whole and in pieces.
func TestReplay(t *testing.T) {
	t.Parallel()
	want := means()
	for _, x := range recording(t) {
		m, ok := want[x.Name]
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			if !ok {
				t.Fatal("nobody said what this exchange means")
			}
			for _, cut := range []bool{false, true} {
				got := perform(t, &replay{exchange: x, cut: cut})
				if m.Fails != "" && strings.Contains(got.Fails, m.Fails) {
					got.Fails = m.Fails
				}
				if d := cmp.Diff(m, got); d != "" {
					t.Errorf("in pieces %v: %s", cut, d)
				}
			}
		})
		delete(want, x.Name)
	}
	if len(want) > 0 {
		t.Errorf("not in the recording: %q", slices.Sorted(maps.Keys(want)))
	}
}

// perform makes the call of an exchange with our client, compares what it sends
// with what was recorded, where the driver makes such calls, and reads the answer.
func perform(t *testing.T, r *replay) (got meant) {
	t.Helper()
	x, d := r.exchange, r.client()
	at, err := url.Parse(x.Request.Path)
	if err != nil {
		t.Fatal(err)
	}
	fail := func(err error) {
		if err != nil {
			got.Fails = err.Error()
			if s := cloud.StatusOf(err); s != http.StatusOK { // of the answer, not in its stream
				got.Status = s
			}
		}
	}
	switch {
	case at.Path == "/health":
		fail(d.health(t.Context()))
	case at.Path == "/process.Process/Start", at.Path == "/process.Process/Connect":
		code, err := d.run(t.Context(), startOf(t, x), userOf(x), func(stderr bool, data []byte) {
			if stderr {
				got.Err += string(data)
			} else {
				got.Out += string(data)
			}
		})
		if err == nil {
			got.Code = code
		}
		fail(err)
	case at.Path == "/process.Process/List":
		got.Listed, err = processes(t.Context(), d)
		fail(err)
	case at.Path == "/files" && x.Request.Method == http.MethodGet:
		got.Body, err = readFile(t.Context(), d, at.Query().Get("path"))
		fail(err)
	case at.Path == "/files":
		res, err := d.File(t.Context(), http.MethodPost, at.Query().Get("path"), x.Request.Body)
		if err == nil {
			_ = res.Body.Close()
		}
		fail(err)
	default: // the driver's reading of refusals
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://recorded"+at.Path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := d.send("", req)
		if err == nil {
			_ = res.Body.Close()
		}
		fail(err)
	}
	compare(t, r)
	if x.Response.Status == http.StatusPartialContent || x.Response.Status == http.StatusNoContent {
		return means()[x.Name] // no answer to any call of the driver's
	}
	return got
}

func startOf(t *testing.T, x exchange) *envd.StartRequest {
	t.Helper()
	s := &envd.StartRequest{}
	data, err := json.Marshal(x.message(t))
	if err == nil {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func userOf(x exchange) string {
	basic, ok := strings.CutPrefix(x.Request.Headers["Authorization"], "Basic ")
	if !ok {
		return ""
	}
	user, _ := base64.StdEncoding.DecodeString(basic)
	return strings.TrimSuffix(string(user), ":")
}

// processes lists the pids of what the daemon started and what has not ended.
func processes(ctx context.Context, d *daemon) (pids []uint32, err error) {
	all, err := d.client(d.doer("")).List(ctx, connect.NewRequest(&envd.ListRequest{}))
	if err != nil {
		return nil, cloud.CallError(err)
	}
	for _, p := range all.Msg.GetProcesses() {
		pids = append(pids, p.GetPid())
	}
	return pids, nil
}

func readFile(ctx context.Context, d *daemon, path string) (string, error) {
	res, err := d.File(ctx, http.MethodGet, path, nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return string(data), err
}

// compare compares a request with the recorded one, if the driver makes such calls.
func compare(t *testing.T, r *replay) {
	t.Helper()
	x := r.exchange
	ours := map[string]bool{"/process.Process/Start": true, "/files": true, "/health": true, "/process.Process/List": true}
	at, _ := url.Parse(x.Request.Path)
	if !ours[at.Path] || slices.Contains([]string{"upload-multipart", "upload-bad-type", "pty"}, x.Name) {
		return
	}
	if r.got.Method != x.Request.Method || r.got.URL.Path != at.Path || r.got.URL.Query().Get("path") != at.Query().Get("path") {
		t.Errorf("%s %s, recorded %s %s", r.got.Method, r.got.URL, x.Request.Method, x.Request.Path)
	}
	for k, v := range x.Request.Headers {
		if slices.Contains([]string{"Connect-Timeout-Ms", "Range", "X-Access-Token"}, k) || (k == "Keepalive-Ping-Interval" && v != "50") {
			continue // not sent by the driver, or as it is configured
		}
		if got := r.got.Header.Get(k); got != v {
			t.Errorf("header %s is %q, recorded %q", k, got, v)
		}
	}
	if r.got.Header.Get("Connect-Timeout-Ms") != "" {
		t.Error("a deadline is sent: the daemon would kill the process by it")
	}
	if at.Path == "/process.Process/Start" {
		mine := exchange{}
		mine.Request.Headers, mine.Request.Body = map[string]string{"Content-Type": r.got.Header.Get("Content-Type")}, r.sent
		recorded := x.message(t)
		if p, ok := recorded["process"].(map[string]any); ok && x.Name == "missing-binary" {
			delete(p, "args") // empty, which is as good as none
		}
		if d := cmp.Diff(recorded, mine.message(t)); d != "" {
			t.Errorf("message (-recorded +ours): %s", d)
		}
	} else if at.Path == "/files" && !bytes.Equal(r.sent, x.Request.Body) {
		t.Errorf("sent %q, recorded %q", r.sent, x.Request.Body)
	}
}
